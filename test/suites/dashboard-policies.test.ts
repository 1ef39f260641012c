import { beforeAll, expect, test } from 'vitest';
import { createOrganization } from '../../shared/organizations/create-organization.ts';
import { listPolicies, setPolicies } from '../../shared/organizations/policies.ts';
import { signInMember } from '../harness/dashboard-member.ts';
import { newPayment } from '../harness/payments.ts';
import { useService } from '../harness/use-service.ts';

const service = useService();
let base: string;

const signedIn = async (role: 'admin' | 'operator' | 'viewer') => (await signInMember(service, role)).visitor;

const file = (policies: object[]) => JSON.stringify({ policies });
const finalSale = { name: 'Nothing goes back', priority: 1, finalSale: true, enforce: { dashboard: true } };
const stopping = { finalSale: true, enforce: { api: true } };

beforeAll(async () => {
  base = `/dashboard/${service.organization.id}/test`;
});

test('are shown in words, in the order in which they are asked', async () => {
  const page = await (await signedIn('viewer')).get(`${base}/policies`);
  expect(page.status).toBe(200);
  expect(page.text).toContain('Default 30-day policy');
  expect(page.text).toContain('within 30 days of the charge');
  expect(page.text).not.toContain('<textarea');
});

test.each([
  ['of its one currency', ['usd'], '50.00 USD'],
  ['of each of its currencies', ['usd', 'jpy'], '50.00 USD or 5000 JPY'],
  ['of no currency when it has none', undefined, '5000 in the smallest unit'],
])('a threshold of a policy is shown as money %s', async (_, currencies, words) => {
  const { id } = await createOrganization(service.deps, { name: 'Thresholds', actor: 'test' });
  const policy = {
    name: 'Thresholds',
    priority: 1,
    match: { currencies, amount: { min: 5_000, max: 5_000 } },
    approvalAbove: { api: 5_000 },
    velocity: { perDay: { amount: 5_000 } },
  };
  await setPolicies(service.deps, { organizationId: id, file: { policies: [policy] }, actor: 'test' });
  const { visitor } = await signInMember(service, 'viewer', id);
  const page = await visitor.get(`/dashboard/${id}/test/policies`);
  expect(page.text).toContain(`from ${words}, up to ${words}<`);
  expect(page.text).toContain(`${words} in 24 hours<`);
  expect(page.text).toContain(`the API above ${words}<`);
});

test('are tried on the refunds that there are, without changing anything', async () => {
  const transactionId = await newPayment(service, { processor: 'stripe' });
  const body = { transactionId, amount: 1_500, reason: 'other' };
  const { body: created } = await service.call('POST', '/v1/refunds', { body });
  const admin = await signedIn('admin');
  const before = await listPolicies(service.deps.db, service.organization.id);
  const page = await admin.post(`${base}/policies/preview`, { file: file([finalSale]) });
  expect(page.status).toBe(200);
  expect(page.text).toContain('1 would be decided differently');
  expect(page.text).toContain(created.data.id);
  expect(page.text).toMatch(/Allowed.*Advised against/s);
  expect(page.text).toContain('Nothing goes back');
  expect(await listPolicies(service.deps.db, service.organization.id)).toEqual(before);
});

test.each<[change: string, counted: 'all' | 'none', current: object, tried: object]>([
  ['an approval of what is allowed', 'all', {}, { approvalAbove: { api: 1_000 } }],
  ['an approval of what is stopped', 'none', stopping, { ...stopping, approvalAbove: { api: 1_000 } }],
  ['whether a denial is advice', 'all', stopping, { ...stopping, enforce: { api: false } }],
  ['whether a denial that is none is advice', 'none', { enforce: { api: true } }, {}],
])('are said to change %s for %s of the refunds', async (_, counted, current, tried) => {
  const named = (rules: object) => ({ policies: [{ name: 'The only one', priority: 1, ...rules }] });
  const hold = (rules: object) =>
    setPolicies(service.deps, { organizationId: service.organization.id, file: named(rules), actor: 'test' });
  await hold({});
  const transactionId = await newPayment(service, { processor: 'stripe' });
  const body = { transactionId, amount: 1_500, reason: 'other' };
  expect((await service.call('POST', '/v1/refunds', { body })).status).toBe(200);
  await hold(current);
  const admin = await signedIn('admin');
  const page = await admin.post(`${base}/policies/preview`, { file: JSON.stringify(named(tried)) });
  const [, all, different] = /Of the latest (\d+) refunds, (\d+) would/.exec(page.text) ?? [];
  expect(different).toBe(counted === 'all' ? all : '0');
  expect(Number(all)).toBeGreaterThan(0);
});

test.each([
  ['what is no JSON', '{', 'This is not JSON'],
  [
    'a key with two values',
    '{"policies":[{"name":"A","priority":1,"maxPercent":5,"maxPercent":50}]}',
    'twice',
  ],
  ['a field that does not exist', file([{ ...finalSale, windowdays: 3 }]), 'there is no such field'],
  ['no policy at all', file([]), 'at least one policy'],
])('do not take %s, and say what is wrong with it', async (_, entered, words) => {
  const admin = await signedIn('admin');
  for (const path of ['/policies', '/policies/preview']) {
    const page = await admin.post(`${base}${path}`, { file: entered });
    expect(page.status).toBe(400);
    expect(page.text).toContain(words);
    // What was entered is there to be mended.
    expect(page.text).toContain('id="file-problem"');
  }
});

test('hold from the moment at which an admin says so, and the audit log tells who', async () => {
  const admin = await signedIn('admin');
  const page = await admin.post(`${base}/policies`, { file: file([finalSale]) });
  expect(page.headers.location).toBe(`${base}/policies?done=saved`);
  expect((await admin.get(`${base}/policies?done=saved`)).text).toContain('none: final sale');
  expect(await listPolicies(service.deps.db, service.organization.id)).toHaveLength(1);
  const entry = await service.deps.db.auditLog.findFirst({
    where: { action: 'policies.set' },
    orderBy: { createdAt: 'desc' },
  });
  expect(entry?.actor).toMatch(/^user:usr_/);
});

test.each(['viewer', 'operator'] as const)('are not changed by somebody who is %s', async (role) => {
  const visitor = await signedIn(role);
  for (const path of ['/policies', '/policies/preview']) {
    expect((await visitor.post(`${base}${path}`, { file: file([finalSale]) })).status).toBe(403);
  }
});

test('show what somebody wrote as text', async () => {
  const admin = await signedIn('admin');
  const name = '</textarea><script>alert(1)</script>';
  const page = await admin.post(`${base}/policies/preview`, { file: file([{ ...finalSale, name }]) });
  expect(page.text).not.toContain('<script>alert');
});
