import { beforeAll, describe, expect, test } from 'vitest';
import { createOrganization } from '../../../shared/organizations/create-organization.ts';
import { lockOrganization } from '../../../shared/platform/organization.ts';
import { listPolicies, setPolicies } from '../../../shared/policies/stored-policies.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import type { DashboardVisitor } from '../../support/dashboard/dashboard-visitor.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

const service = useService();
let base: string;

const signedIn = async (role: 'admin' | 'operator' | 'viewer') => (await signInMember(service, role)).visitor;

const file = (policies: object[]) => JSON.stringify({ policies });

/** The form as the page has it for this visitor, with other policies written into it. */
async function written(visitor: DashboardVisitor, policies: string): Promise<Record<string, string>> {
  const { text } = await visitor.get(`${base}/policies`);
  return { file: policies, madeFrom: /name="madeFrom" value="([^"]+)"/.exec(text)?.[1] ?? '' };
}
const finalSale = { name: 'Nothing goes back', priority: 1, finalSale: true, enforce: { dashboard: true } };
const advising = { finalSale: true };
const stopping = { finalSale: true, enforce: { api: true } };

beforeAll(async () => {
  base = `/dashboard/${service.organization.id}/test`;
});

test('are shown in words, in the order in which they are asked', async () => {
  const page = await (await signedIn('viewer')).get(`${base}/policies`);
  expect(page.status).toBe(200);
  expect(page.text).toContain('Default 30-day policy');
  expect(page.text).toContain('within 30 days of the charge');
  expect(page.text).not.toMatch(/<form[^>]*policies|<textarea/);
});

test.each([
  ['of its one currency', ['usd'], '50.00 USD'],
  ['of each of its currencies', ['usd', 'jpy'], '5,000 JPY or 50.00 USD'],
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
  const page = await admin.post(`${base}/policies/preview`, await written(admin, file([finalSale])));
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
  ['an approval of what is advised against', 'all', advising, { ...advising, approvalAbove: { api: 1_000 } }],
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
  const page = await admin.post(
    `${base}/policies/preview`,
    await written(admin, JSON.stringify(named(tried))),
  );
  const [, all, different] = /Of the latest (\d+) refunds, (\d+) would/.exec(page.text) ?? [];
  expect(different).toBe(counted === 'all' ? all : '0');
  expect(Number(all)).toBeGreaterThan(0);
});

test.each<[outcome: string, rules: object]>([
  ['Allowed', {}],
  ['Asks a person', { approvalAbove: { api: 1_000 } }],
  ['Advised against', advising],
  ['Advised against, asks a person', { ...advising, approvalAbove: { api: 1_000 } }],
  ['Stopped', { ...stopping, approvalAbove: { api: 1_000 } }],
])('say what comes of a refund: %s', async (outcome, rules) => {
  const { id: organizationId } = service.organization;
  const anything = { policies: [{ name: 'Anything goes', priority: 1 }] };
  await setPolicies(service.deps, { organizationId, file: anything, actor: 'test' });
  const transactionId = await newPayment(service, { processor: 'stripe' });
  const body = { transactionId, amount: 1_500, reason: 'other' };
  const { body: created } = await service.call('POST', '/v1/refunds', { body });
  const admin = await signedIn('admin');
  const form = await written(admin, file([{ name: 'The only one', priority: 1, ...rules }]));
  const { text } = await admin.post(`${base}/policies/preview`, form);
  const row = text.split('<tr>').find((each) => each.includes(created.data.id)) ?? '';
  const [now, then] = [...row.matchAll(/class="badge"[^>]*>([^<]+)</g)].map(([, words]) => words);
  expect([now, then]).toEqual(['Allowed', outcome]);
});

test.each([
  ['what is no JSON', '{', 'This is not JSON'],
  [
    'a key with two values',
    '{"policies":[{"name":"A","priority":1,"maxPercent":5,"maxPercent":50}]}',
    'twice',
  ],
  ['a field that does not exist', file([{ ...finalSale, windowdays: 3 }]), 'there is no such field'],
  [
    'a NUL in a name',
    file([{ ...finalSale, name: 'a\0b' }]),
    'policies.0.name: must not hold a NUL character',
  ],
  [
    'a NUL in metadata',
    file([{ ...finalSale, match: { metadata: { a: '\0' } } }]),
    'must not hold a NUL character',
  ],
  [
    'a NUL in the name of metadata',
    file([{ ...finalSale, match: { metadata: { '\0': 'a' } } }]),
    'must not hold a NUL',
  ],
  ['no policy at all', file([]), 'at least one policy'],
])('do not take %s, and say what is wrong with it', async (_, entered, words) => {
  const admin = await signedIn('admin');
  for (const path of ['/policies', '/policies/preview']) {
    const page = await admin.post(`${base}${path}`, { file: entered });
    expect(page.status).toBe(400);
    expect(page.text).toContain('Edit in the form');
    expect(page.text).toContain(words);
    // What was entered is there to be mended.
    expect(page.text).toContain('id="file-problem"');
  }
});

test('hold from the moment at which an admin says so, and the audit log tells who', async () => {
  const admin = await signedIn('admin');
  const page = await admin.post(`${base}/policies`, await written(admin, file([finalSale])));
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
  const page = await admin.post(
    `${base}/policies/preview`,
    await written(admin, file([{ ...finalSale, name }])),
  );
  expect(page.text).not.toContain('<script>alert');
});

describe('that somebody else has changed meanwhile', () => {
  const named = (name: string) => file([{ name, priority: 1 }]);
  const names = async () =>
    (await listPolicies(service.deps.db, service.organization.id)).map(({ name }) => name);

  test('are not overwritten by one of two admins who save at the same moment', async () => {
    const admins = await Promise.all([signedIn('admin'), signedIn('admin')]);
    const [mine, theirs] = ['Mine & only mine', 'Theirs & only theirs'] as const;
    const forms = await Promise.all([written(admins[0], named(mine)), written(admins[1], named(theirs))]);
    const organizationId = service.organization.id;
    const { saving } = await service.deps.db.$transaction(async (tx) => {
      // Neither goes on before both have come to where they take turns.
      await lockOrganization(tx, organizationId);
      const saving = admins.map((admin, index) => admin.post(`${base}/policies`, forms[index]));
      await waitFor('both to wait for their turn', async () => {
        const waiting = await tx.$queryRaw<unknown[]>`
          SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
        return waiting.length === 2;
      });
      return { saving };
    });
    const answers = await Promise.all(saving);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 409]);
    const [held = '', lost = ''] = answers[0]?.status === 303 ? [mine, theirs] : [theirs, mine];
    expect(await names()).toEqual([held]);
    const late = answers.find(({ status }) => status === 409);
    expect(late?.text).toContain('Nothing of yours was saved');
    // Theirs to compare, and what was entered.
    expect(late?.text).toContain(held.replace('&', '&amp;'));
    expect(late?.text).toContain(lost.replace('&', '&amp;'));
    const saved = await service.deps.db.auditLog.findMany({
      where: { organizationId, action: 'policies.set' },
      orderBy: { createdAt: 'desc' },
    });
    expect(JSON.stringify(saved)).not.toContain(lost);
  });

  test('are told of at the preview already, and replaced once that was read', async () => {
    const admin = await signedIn('admin');
    const form = await written(admin, named('Later'));
    await setPolicies(service.deps, {
      organizationId: service.organization.id,
      file: JSON.parse(named('Sooner')),
      actor: 'test',
    });
    for (const path of ['/policies/preview', '/policies']) {
      const late = await admin.post(`${base}${path}`, form);
      expect(late.status).toBe(409);
      expect(late.text).toContain('Nothing of yours was saved');
      expect(await names()).toEqual(['Sooner']);
    }
    const { status } = await admin.post(`${base}/policies`, await written(admin, named('Later')));
    expect(status).toBe(303);
    expect(await names()).toEqual(['Later']);
  });

  test('are saved once by a form that is sent twice, and whoever sent it is not told of somebody else', async () => {
    const admin = await signedIn('admin');
    const metadata = { zone: 'a', b: 1 };
    const form = await written(admin, file([{ name: 'Twice', priority: 1, match: { metadata } }]));
    const saved = () => service.deps.db.auditLog.count({ where: { action: 'policies.set' } });
    const before = await saved();
    for (const _ of ['first', 'second'])
      expect((await admin.post(`${base}/policies`, form)).status).toBe(303);
    expect(await saved()).toBe(before + 1);
    expect(await names()).toEqual(['Twice']);
  });

  test('are not saved by a form that does not say what it was made from', async () => {
    const admin = await signedIn('admin');
    const before = await names();
    expect((await admin.post(`${base}/policies`, { file: named('From nowhere') })).status).toBe(409);
    expect(await names()).toEqual(before);
  });
});
