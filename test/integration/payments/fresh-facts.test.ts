import { afterEach, expect, test, vi } from 'vitest';
import { askForRefund } from '../../support/refunds/new-refund.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { refundDirectly } from '../../support/refunds/refund-directly.ts';
import { agentKey } from '../../support/refunds/refund-requests.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { useService } from '../../support/use-service.ts';

// A payment of 100.00 of which 5.00 were refunded here and, since it was read, 60.00 elsewhere, which no webhook has reported.
const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0 } });

afterEach(async () => {
  vi.restoreAllMocks();
  await service.sandbox.clearFaults();
});

async function refundedElsewhere(readBeforeMs: number): Promise<string> {
  await storePolicies(service, {});
  const transactionId = await newPayment(service);
  expect((await askForRefund(service, { transactionId, amount: 500 })).status).toBe(200);
  await service.deps.db.$executeRaw`
    UPDATE payment SET fetched_at = service_time() - ${readBeforeMs} * interval '1 millisecond'
    WHERE id IN (SELECT payment_id FROM payment_name WHERE name = ${transactionId})`;
  await refundDirectly(service, { processor: 'stripe', transactionId, amount: 6_000 });
  return transactionId;
}

interface Decided {
  /** Rules of the policy. */
  policy?: object;
  /** Limits of an agent's key. */
  limits?: object;
  asked?: object;
}

/** What a policy check, a dry run and a creation come to, each with a payment that was read so long before. */
async function outcomes(
  readBeforeMs: number,
  { policy = {}, limits, asked = { amount: 1_000 } }: Decided,
  elseFirst: () => unknown = () => {},
) {
  const checked = await refundedElsewhere(readBeforeMs);
  const tried = await refundedElsewhere(readBeforeMs);
  const refunded = await refundedElsewhere(readBeforeMs);
  await elseFirst();
  await storePolicies(service, policy);
  const key = limits === undefined ? {} : { key: (await agentKey(service, limits)).plaintext };
  const { body: check } = await service.call('POST', '/v1/policies/check', {
    ...{ body: { transactionId: checked, amount: 1_000 }, ...key },
  });
  const { body: dryRun } = await askForRefund(service, { transactionId: tried, ...asked, dryRun: true }, key);
  const { status, body } = await askForRefund(service, { transactionId: refunded, ...asked }, key);
  const created = status === 200 ? [body.data.status, body.data.amount] : [body.error.code];
  return { check: check.data.eligible, dryRun: dryRun.data.status, created };
}

const denied = { check: false, dryRun: null, created: ['policy_denied'] };
const pending = { check: true, dryRun: 'pending', created: ['pending', 1_000] };

test.each<[string, Decided, object]>([
  ['all that is left', { asked: { amount: undefined, remaining: true } }, { created: ['processing', 3_500] }],
  ['a share', { policy: { maxPercent: 50, enforce: { api: true } } }, denied],
  [
    'a limit of the payment',
    { policy: { maxAmount: { amount: 5_000, currency: 'usd' }, enforce: { api: true } } },
    denied,
  ],
  ['a threshold of approval', { policy: { approvalAbove: { api: 5_000 } } }, pending],
  [
    'a policy by amount',
    { policy: { match: { amount: { min: 5_000 } }, finalSale: true, enforce: { api: true } } },
    denied,
  ],
  ["a key's limit of the payment", { limits: { maxPerPayment: 5_000 } }, denied],
  ["a key's threshold of approval", { limits: { approvalAbove: 5_000 } }, pending],
])('%s is decided on a payment that was read within a minute', async (_what, decided, outcome) => {
  expect(await outcomes(60_001, decided)).toMatchObject(outcome);
});

test.each<[string, number, Decided, number]>([
  ['what depends on no total', 60_001, { policy: { windowDays: 30, enforce: { api: true } } }, 1_000],
  [
    "an agent's limits per refund and day",
    60_001,
    { limits: { maxPerRefund: 1_000, maxPerDay: 5_000 } },
    1_000,
  ],
  ['a payment that was read within a minute', 0, { asked: { amount: undefined, remaining: true } }, 9_500],
])('%s needs no reading', async (_what, readBeforeMs, decided, amount) => {
  const reading = vi.spyOn(service.deps.connections, 'connect');
  const { created } = await outcomes(readBeforeMs, decided, () => reading.mockClear());
  expect(created).toEqual(['processing', amount]);
  expect(reading).not.toHaveBeenCalled();
});

test('while the processor does not answer, it is decided by what is known', async () => {
  const policy = { maxPercent: 50, enforce: { api: true } };
  const outage = { processor: 'stripe', operation: '*', kind: 'error-503', times: null } as const;
  const { created } = await outcomes(60_001, { policy }, () => service.sandbox.fault(outage));
  expect(created).toEqual(['processing', 1_000]);
});
