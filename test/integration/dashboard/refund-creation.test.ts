import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PolicyInput } from '../../../shared/policies/policy.ts';
import { setPolicies } from '../../../shared/policies/stored-policies.ts';
import { auditOf } from '../../support/audit-log.ts';
import { type DashboardMember, signInMember } from '../../support/dashboard/dashboard-member.ts';
import type { Page } from '../../support/dashboard/dashboard-visitor.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { refundDirectly } from '../../support/refunds/refund-directly.ts';
import { timelineOf } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
let person: DashboardMember;
let base: string;
let url: string;

beforeAll(async () => {
  person = await signInMember(service, 'operator');
  base = `/dashboard/${service.organization.id}/test`;
  url = `${base}/refunds/new`;
});
beforeEach(() => usePolicies({}));
afterEach(() => service.sandbox.clearFaults());
afterAll(() => expectInvariants(service));

async function usePolicies(...rules: Partial<PolicyInput>[]): Promise<void> {
  const policies = rules.map((rule, index) => ({ name: 'Shop', priority: index, ...rule }));
  const { id: organizationId } = service.organization;
  await setPolicies(service.deps, { organizationId, file: { policies }, actor: 'test' });
}

type Fields = Record<string, string>;

async function refundOf(transactionId: string, more: Fields = {}): Promise<Fields> {
  return { transactionId, amount: '12.50', currency: 'usd', reason: 'other', metadata: '', ...more };
}

const formKeyOf = ({ text }: Page) => /name="formKey" value="([^"]+)"/.exec(text)?.[1] ?? '';

/** The first step, from a form that has just been opened. */
async function check(fields: Fields): Promise<Page> {
  const formKey = formKeyOf(await person.visitor.get(url));
  return await person.visitor.post(url, { ...fields, formKey, step: 'check' });
}

async function confirm(fields: Fields, checked: Page): Promise<Page> {
  return await person.visitor.post(url, { ...fields, formKey: formKeyOf(checked), step: 'confirm' });
}

const refundsOf = async (transactionId: string) =>
  await service.deps.db.refund.findMany({ where: { transactionId } });

describe('a refund', () => {
  test('is asked for in two steps, the first of which moves nothing', async () => {
    const transactionId = await newPayment(service);
    const fields = await refundOf(` ${transactionId} `, { metadata: '{"ticket": "T-1001"}' });
    const checked = await check(fields);
    expect(checked.status).toBe(200);
    for (const words of [
      'Confirm the refund',
      'Allowed.',
      '12.50 USD',
      '100.00 USD',
      'Still refundable',
      'T-1001',
    ])
      expect(checked.text).toContain(words);
    expect(await refundsOf(transactionId)).toEqual([]);
    const answer = await confirm(fields, checked);
    const [refund] = await refundsOf(transactionId);
    expect(answer).toMatchObject({
      status: 303,
      headers: { location: `${base}/refunds/${refund?.id}?done=created` },
    });
    expect(refund).toMatchObject({
      ...{ amount: 1_250n, currency: 'usd', reason: 'other', status: 'processing', initiatedBy: 'dashboard' },
      ...{ apiKeyId: null, metadata: { ticket: 'T-1001' }, environment: 'test' },
    });
    const id = refund?.id ?? '';
    expect(await service.deps.db.refundEvent.findMany({ where: { refundId: id } })).toMatchObject([
      { type: 'refund.created', actor: `user:${person.userId}` },
    ]);
    expect(await auditOf(service, id)).toMatchObject([
      {
        action: 'refund.created',
        actor: `user:${person.userId}`,
        detail: { amount: 1_250, currency: 'usd' },
      },
    ]);
    expect((await person.visitor.get(`${base}/refunds?q=${id}`)).text).toContain(
      `Dashboard, ${person.email}`,
    );
  });

  test('is made once, however often and however fast the same form is sent', async () => {
    const transactionId = await newPayment(service);
    const fields = await refundOf(transactionId);
    const checked = await check(fields);
    const answers = await Promise.all([1, 2, 3].map(() => confirm(fields, checked)));
    answers.push(await confirm(fields, checked));
    const refunds = await refundsOf(transactionId);
    expect(refunds).toHaveLength(1);
    for (const { status, headers } of answers) {
      expect(status).toBe(303);
      expect(headers.location).toBe(`${base}/refunds/${refunds[0]?.id}?done=created`);
    }
    expect(await auditOf(service, refunds[0]?.id ?? '')).toHaveLength(1);
  });

  test('is not made by a form that was sent before with another amount', async () => {
    const transactionId = await newPayment(service);
    const fields = await refundOf(transactionId);
    const checked = await check(fields);
    await confirm(fields, checked);
    const other = await confirm({ ...fields, amount: '20' }, checked);
    expect(other.status).toBe(400);
    expect(other.text).toContain('This form was sent before with other values');
    expect(formKeyOf(other)).not.toBe(formKeyOf(checked));
    expect(await refundsOf(transactionId)).toHaveLength(1);
  });

  test('is made of the same form again by somebody else, whose form it is not', async () => {
    const transactionId = await newPayment(service);
    const fields = await refundOf(transactionId);
    const checked = await check(fields);
    await confirm(fields, checked);
    const other = await signInMember(service, 'operator');
    await other.visitor.get(url);
    await other.visitor.post(url, { ...fields, formKey: formKeyOf(checked), step: 'confirm' });
    expect(await refundsOf(transactionId)).toHaveLength(2);
  });

  test('is entered in the decimals of its currency', async () => {
    for (const [currency, amount, minor] of [
      ['jpy', '1050', 1_050n],
      ['kwd', '1.050', 1_050n],
      ['eur', '0.5', 50n],
    ] as const) {
      const transactionId = await newPayment(service, { currency });
      const fields = await refundOf(transactionId, { amount, currency });
      await confirm(fields, await check(fields));
      expect(await refundsOf(transactionId)).toMatchObject([{ amount: minor, currency }]);
    }
  });

  test('waits for approval where a policy wants it, and the page says so before', async () => {
    await usePolicies({ approvalAbove: { dashboard: 1_000 } });
    const transactionId = await newPayment(service);
    const fields = await refundOf(transactionId);
    const checked = await check(fields);
    expect(checked.text).toContain('It then awaits approval');
    await confirm(fields, checked);
    const [refund] = await refundsOf(transactionId);
    expect(refund?.status).toBe('pending');
    expect(await timelineOf(service, refund?.id ?? '')).toEqual(['refund.approval_required']);
  });
});

describe('a policy', () => {
  test('that binds the dashboard stops a refund, also one that skips the first step', async () => {
    await usePolicies({ finalSale: true, enforce: { api: false, dashboard: true } });
    const transactionId = await newPayment(service);
    const fields = await refundOf(transactionId);
    const checked = await check(fields);
    expect(checked.text).toContain('The policy does not allow it.');
    expect(checked.text).not.toContain('value="confirm"');
    const answer = await confirm(fields, checked);
    expect(answer.status).toBe(400);
    expect(answer.text).toMatch(/role="alert">This payment was a final sale/);
    expect(answer.text).toContain(`value="${transactionId}"`);
    expect(formKeyOf(answer)).not.toBe(formKeyOf(checked));
    expect(await refundsOf(transactionId)).toEqual([]);
  });

  test('that only advises is shown, and a person may go on', async () => {
    await usePolicies({ finalSale: true });
    const transactionId = await newPayment(service);
    const fields = await refundOf(transactionId);
    const checked = await check(fields);
    expect(checked.text).toContain('The policy advises against it');
    expect((await confirm(fields, checked)).status).toBe(303);
    expect(await refundsOf(transactionId)).toHaveLength(1);
  });
});

describe('what cannot be is told at its field, and what was entered stays', () => {
  const problem = (field: string) => new RegExp(`id="${field}-problem">`);

  test.each([
    ['transactionId', { transactionId: '' }],
    ['transactionId', { transactionId: 'ch 1' }],
    ['transactionId', { transactionId: 'ch_missing1' }],
    ['amount', { amount: '' }],
    ['amount', { amount: '12,50' }],
    ['amount', { amount: '12.505' }],
    ['amount', { amount: '0' }],
    ['amount', { amount: '-1' }],
    ['amount', { amount: '99999999999999999' }],
    ['amount', { amount: '100.01' }],
    ['amount', { amount: '1'.repeat(30) }],
    ['currency', { currency: 'xyz' }],
    ['currency', { currency: 'eur' }],
    ['reason', { reason: 'because' }],
    ['processor', { processor: 'paypal' }],
    ['metadata', { metadata: '{"a": 1' }],
    ['metadata', { metadata: '["a"]' }],
    ['metadata', { metadata: '{"a": 1, "a": 2}' }],
    ['metadata', { metadata: '{"__proto__": {"a": 1}}' }],
    ['metadata', { metadata: '{"a": 12345678901234567890}' }],
    ['metadata', { metadata: '{"a": "\\u0000"}' }],
    ['metadata', { metadata: '{"\\u0000": 1}' }],
  ])('%s: %j', async (field, wrong) => {
    const transactionId = await newPayment(service);
    const fields = await refundOf(transactionId, {
      metadata: '{"note": "</textarea><script>alert(1)</script>"}',
      ...wrong,
    });
    const page = await check(fields);
    expect(page.status).toBe(400);
    expect(page.text).toMatch(problem(field));
    expect(page.text).not.toContain('<script>alert');
    if (field !== 'amount') expect(page.text).toContain('value="12.50"');
    expect(await refundsOf(transactionId)).toEqual([]);
  });

  test('a client secret in place of the payment, which is not repeated', async () => {
    const page = await check(await refundOf('pi_3abc_secret_9xyz'));
    expect(page.status).toBe(400);
    expect(page.text).toMatch(problem('transactionId'));
    expect(page.text).toContain('This is a client secret, not a payment id. Enter the part before _secret_.');
    expect(page.text).not.toContain('9xyz');
  });

  test('a payment of which the processor refunds nothing', async () => {
    const page = await check(await refundOf(await newPayment(service, { status: 'disputed' })));
    expect(page.status).toBe(400);
    expect(page.text).toMatch(problem('transactionId'));
    expect(page.text).toContain('The payment was charged back');
  });

  test('a payment that was refunded elsewhere meanwhile', async () => {
    const transactionId = await newPayment(service);
    const fields = await refundOf(transactionId, { amount: '100' });
    const checked = await check(fields);
    await refundDirectly(service, { processor: 'stripe', transactionId, amount: 10_000 });
    await service.deps.db.payment.updateMany({ where: { transactionId }, data: { fetchedAt: null } });
    const answer = await confirm(fields, checked);
    expect(answer.status).toBe(400);
    expect(answer.text).toMatch(/role="alert">The transaction has already been refunded in full/);
    expect((await check(fields)).text).toContain('refunded in full already');
  });

  test('a processor that cannot be asked is no reason to go on blindly', async () => {
    const transactionId = await newPayment(service);
    await service.sandbox.fault({
      processor: 'stripe',
      operation: 'transaction.get',
      kind: 'reset',
      times: 5,
    });
    const page = await check(await refundOf(transactionId));
    expect(page.status).toBe(400);
    expect(page.text).toMatch(/role="alert">stripe cannot be reached/);
  });

  test('going back to change something keeps the form and its key', async () => {
    const fields = await refundOf(await newPayment(service));
    const checked = await check(fields);
    const formKey = formKeyOf(checked);
    const page = await person.visitor.post(url, { ...fields, formKey, step: 'change' });
    expect(page.status).toBe(200);
    expect(page.text).toContain('value="12.50"');
    expect(formKeyOf(page)).toBe(formKey);
  });
});

describe('nobody asks for a refund who may not', () => {
  test('by role, token, organization or environment', async () => {
    const transactionId = await newPayment(service);
    const fields = { ...(await refundOf(transactionId)), step: 'confirm' };
    const viewer = await signInMember(service, 'viewer');
    expect((await viewer.visitor.get(url)).status).toBe(403);
    await viewer.visitor.get(`${base}/refunds`);
    expect((await viewer.visitor.post(url, fields)).status).toBe(403);
    for (const csrfToken of [null, 'wrong'])
      expect((await person.visitor.post(url, fields, { csrfToken })).status).toBe(403);
    const { id: organizationId } = await service.addOrganization('Others');
    const stranger = await signInMember(service, 'owner', organizationId);
    await stranger.visitor.get(`/dashboard/${organizationId}/test/refunds/new`);
    expect((await stranger.visitor.post(url, fields)).status).toBe(404);
    expect(await refundsOf(transactionId)).toEqual([]);
    // The address alone says whether money is real.
    await person.visitor.get(url);
    expect((await person.visitor.post(url.replace('/test/', '/live/'), fields)).status).toBe(303);
    expect(await refundsOf(transactionId)).toMatchObject([{ environment: 'live' }]);
  });

  test('and the form takes over what another page knows', async () => {
    const { text } = await person.visitor.get(`${url}?transactionId=ch_1&currency=eur&processor=stripe`);
    expect(text).toContain('value="ch_1"');
    expect(text).toMatch(/value="eur" selected|selected value="eur"/);
  });
});
