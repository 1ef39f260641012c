import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { PolicyInput } from '#shared/policies/policy.ts';
import { systemClock } from '#test/support/clocks.ts';
import { askForRefund } from '#test/support/refunds/new-refund.ts';
import { newPayment } from '#test/support/refunds/payments.ts';
import { refundDirectly } from '#test/support/refunds/refund-directly.ts';
import { agentKey } from '#test/support/refunds/refund-requests.ts';
import { storePolicies } from '#test/support/refunds/stored-policies.ts';
import { type Recording, recordStatements } from '#test/support/stores/statements.ts';
import { useService } from '#test/support/use-service.ts';

let recording: Recording;
beforeAll(() => {
  recording = recordStatements();
});
afterAll(() => recording.stop());

const service = useService({ workers: 0, overrides: { clock: systemClock } });

beforeEach(async () => {
  await service.sandbox.settings({ autoSettleMs: null });
  await usePolicies();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await service.sandbox.clearFaults();
});

async function usePolicies(...policies: Partial<PolicyInput>[]): Promise<void> {
  await storePolicies(service, ...(policies.length === 0 ? [{ windowDays: 30 }] : policies));
}

type Asked = Parameters<typeof askForRefund>[1];
type Sent = Parameters<typeof askForRefund>[2];

const create = async (body: Asked, sent?: Sent) => await askForRefund(service, body, sent);
const dryRun = async (body: Asked, sent?: Sent) => await create({ ...body, dryRun: true }, sent);

const monthsAgo = () => new Date(Date.now() - 90 * 86_400_000).toISOString();

describe('a dry run', () => {
  test('reports the refund that would be created, with the policy and its trace', async () => {
    const transactionId = await newPayment(service);
    const { status, body } = await dryRun({ transactionId });
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        data: {
          ...{ wouldCreate: true, status: 'processing', error: null, maxAmount: 10_000 },
          policy: {
            ...{ name: 'Policy 0', eligible: true },
            trace: [
              'policy "Policy 0" with priority 0: matches',
              'not fully refunded: passed',
              'refund window: passed',
              'amount: passed',
            ],
          },
        },
      },
    });
  });

  test.each([
    ['unknown here', async () => await newPayment(service)],
    [
      'stored and fresh',
      async () => {
        const transactionId = await newPayment(service);
        await create({ transactionId });
        return transactionId;
      },
    ],
    [
      'stored and stale',
      async () => {
        const transactionId = await newPayment(service);
        await create({ transactionId });
        await refundDirectly(service, { processor: 'stripe', transactionId, amount: 500 });
        await service.deps.db.payment.updateMany({
          where: { names: { some: { name: transactionId } } },
          data: { fetchedAt: null },
        });
        return transactionId;
      },
    ],
  ])('of a payment that is %s writes nothing, wakes no worker and sends nothing', async (_state, prepare) => {
    await usePolicies({ velocity: { perDay: { count: 1_000 } }, enforce: { api: true } });
    const key = await agentKey(service, { maxPerDay: 100_000 });
    const transactionId = await prepare();
    await service.deps.db.apiKey.updateMany({ data: { lastUsedAt: new Date(Date.now() + 3_600_000) } });
    const sent = await service.sandbox.refunds({ transactionId });
    const wake = vi.spyOn(service.deps.queues, 'wake');
    const statements = await recording.during(async () => {
      const headers = { 'idempotency-key': `dry-${transactionId}` };
      const { body } = await dryRun({ transactionId }, { key: key.plaintext, headers });
      expect(body.data.wouldCreate).toBe(true);
    });
    expect(statements.length).toBeGreaterThan(0);
    expect(statements.filter((statement) => !/^\s*SELECT/i.test(statement))).toEqual([]);
    expect(statements.filter((statement) => /create_refunds|FOR UPDATE|_lock/i.test(statement))).toEqual([]);
    expect(wake).not.toHaveBeenCalled();
    expect(await service.sandbox.refunds({ transactionId })).toEqual(sent);
  });

  test('binds no idempotency key, and reports what one that is bound already changes', async () => {
    const transactionId = await newPayment(service);
    const sent = { headers: { 'idempotency-key': `bound-${transactionId}` } };
    expect((await dryRun({ transactionId, amount: 500 }, sent)).body.data.wouldCreate).toBe(true);
    const created = await create({ transactionId, dryRun: false }, sent);
    expect(created.status).toBe(200);
    expect((await create({ transactionId }, sent)).body.data.id).toBe(created.body.data.id);
    expect((await dryRun({ transactionId }, sent)).body.data).toMatchObject({
      ...{ wouldCreate: false, status: null, error: null, maxAmount: 9_000 },
    });
    const other = { transactionId, amount: 500 };
    const { body } = await create(other, sent);
    expect(body.error.code).toBe('idempotency_key_reused');
    expect((await dryRun(other, sent)).body.data).toMatchObject({ wouldCreate: false, error: body.error });
  });
});

interface Case {
  policies?: Partial<PolicyInput>[];
  limits?: Parameters<typeof agentKey>[1];
  payment?: Record<string, unknown>;
  /** Refunded here before. */
  refunded?: number;
  unreachable?: boolean;
  /** What no policy decides: the amount is none of the currency. */
  isAmountInvalid?: boolean;
  body?: object;
  maxAmount: number;
}

const enforce = { api: true };
const everything = { amount: undefined, remaining: true };
const onDuplicates: Partial<PolicyInput> = {
  match: { reasons: ['duplicate_charge'] },
  finalSale: true,
  enforce,
};
const onGifts: Partial<PolicyInput> = { match: { metadata: { kind: 'gift' } }, finalSale: true, enforce };

describe('a dry run, a creation and a policy check of the same fields agree', () => {
  test.each<[string, Case]>([
    ['nothing limits', { maxAmount: 10_000 }],
    ['part is refunded', { refunded: 9_000, maxAmount: 1_000 }],
    ['less is left', { refunded: 9_001, maxAmount: 999 }],
    ['nothing is left', { refunded: 10_000, maxAmount: 0 }],
    ['the currency is another', { body: { currency: 'eur' }, maxAmount: 10_000 }],
    ['the payment is unknown', { body: { transactionId: 'ch_missing1' }, maxAmount: 0 }],
    ['the payment has failed', { payment: { status: 'failed' }, maxAmount: 0 }],
    ['the processor is unreachable', { unreachable: true, maxAmount: 1_000 }],
    [
      'the currency takes tens only',
      {
        ...{ payment: { currency: 'kwd' }, body: { currency: 'kwd', amount: 1_001 }, maxAmount: 10_000 },
        isAmountInvalid: true,
      },
    ],
    [
      'the window is closed',
      { policies: [{ windowDays: 30, enforce }], payment: { createdAt: monthsAgo() }, maxAmount: 0 },
    ],
    [
      'the policy only advises',
      { policies: [{ windowDays: 30 }], payment: { createdAt: monthsAgo() }, maxAmount: 10_000 },
    ],
    ['the policy leaves less', { policies: [{ maxPercent: 50, enforce }], refunded: 4_001, maxAmount: 999 }],
    [
      'approval is required',
      { policies: [{ approvalAbove: { api: 1_000 }, enforce }], refunded: 1, maxAmount: 9_999 },
    ],
    ['the key leaves enough', { limits: { maxPerPayment: 5_000 }, refunded: 4_000, maxAmount: 1_000 }],
    ['the key leaves less', { limits: { maxPerPayment: 5_000 }, refunded: 4_001, maxAmount: 999 }],
    ['the key leaves nothing', { limits: { maxPerDay: 1_000 }, refunded: 1_000, maxAmount: 0 }],
    ['the key has another currency', { limits: { currency: 'eur' }, maxAmount: 0 }],
    ['the key requires approval', { limits: { approvalAbove: 1_000 }, refunded: 1, maxAmount: 9_999 }],
    [
      'a policy matches the reason',
      { policies: [onDuplicates, { enforce }], body: { reason: 'duplicate_charge' }, maxAmount: 0 },
    ],
    ['a policy matches another reason', { policies: [onDuplicates, { enforce }], maxAmount: 10_000 }],
    [
      'a policy matches the metadata',
      { policies: [onGifts, { enforce }], body: { metadata: { kind: 'gift', note: 'x' } }, maxAmount: 0 },
    ],
    [
      'a policy matches other metadata',
      { policies: [onGifts, { enforce }], body: { metadata: { kind: 'usual' } }, maxAmount: 10_000 },
    ],
    [
      'all that is left is more than the policy leaves',
      { policies: [{ maxPercent: 50, enforce }], body: everything, maxAmount: 5_000 },
    ],
    [
      'all that is left requires approval',
      { policies: [{ approvalAbove: { api: 9_999 } }], body: everything, maxAmount: 10_000 },
    ],
    [
      'all that is left is more than the key leaves',
      { limits: { maxPerRefund: 9_999 }, body: everything, maxAmount: 9_999 },
    ],
    [
      'neither the key nor the policy leaves enough',
      { policies: [{ maxPercent: 10 }], limits: { maxPerRefund: 900 }, refunded: 200, maxAmount: 800 },
    ],
    [
      'the policy allows no amount and the key less',
      { policies: [{ finalSale: true }], limits: { maxPerRefund: 900 }, maxAmount: 0 },
    ],
  ])('they agree about a refund when %s', async (_what, given) => {
    const { policies = [{ enforce }], limits, refunded = 0, maxAmount } = given;
    await usePolicies({ enforce });
    const transactionId = await newPayment(service, given.payment);
    const key = limits === undefined ? undefined : await agentKey(service, {});
    const sent = key === undefined ? {} : { key: key.plaintext };
    if (refunded > 0) expect((await create({ transactionId, amount: refunded }, sent)).status).toBe(200);
    if (key !== undefined) {
      const agentLimits = { currency: 'usd', ...limits };
      await service.deps.db.apiKey.update({ where: { id: key.id }, data: { agentLimits } });
    }
    await usePolicies(...policies);
    if (given.unreachable === true) {
      await usePolicies({ enforce: { api: false } });
      await service.sandbox.fault({ processor: 'stripe', operation: '*', kind: 'error-503', times: null });
    }
    const body = { transactionId, ...given.body };
    const dry = await dryRun(body, sent);
    const check = await service.call('POST', '/v1/policies/check', {
      ...sent,
      body: { amount: 1_000, reason: 'other', ...body },
    });
    const created = await create(body, sent);
    expect(dry.status).toBe(200);
    expect(dry.body.data).toMatchObject({
      wouldCreate: created.status === 200,
      status: created.status === 200 ? created.body.data.status : null,
      error: created.body.error ?? null,
      maxAmount,
    });
    const isEnforced = limits !== undefined || policies.some((policy) => policy.enforce?.api === true);
    if (given.unreachable === true || given.isAmountInvalid === true || !isEnforced) return;
    expect(check.body.data).toMatchObject({ eligible: created.status === 200 });
    const { code, message } = created.body.error ?? {};
    if (code === 'policy_denied') expect(check.body.data.reason).toBe(message);
    const isOtherCurrency = 'currency' in { ...given.body };
    expect(check.body.data.maxAmount ?? 0).toBe(isOtherCurrency ? 0 : maxAmount);
  });
});
