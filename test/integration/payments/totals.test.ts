import { describe, expect, test } from 'vitest';
import { createRefund } from '#shared/refunds/lifecycle/create.ts';
import type { RefundRequest, RequestingKey } from '#shared/refunds/lifecycle/decide.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { refundDirectly } from '../../support/refunds/refund-directly.ts';
import { makeDue, rowOf } from '../../support/refunds/refund-records.ts';
import { agentKey, holdDecisions, refundRequest } from '../../support/refunds/refund-requests.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { outcomeOf, useTwoProcesses } from '../../support/refunds/two-processes.ts';

// Thresholds, limits and ranges look at what all refunds of a payment come to. Two processes create refunds here.
const { service, other } = useTwoProcesses();

const payment = (amount = 100_000) => newPayment(service, { amount });

/** Creates refunds that all decide before any of them is recorded, half of them in another process. */
async function allAtOnce(requests: readonly RefundRequest[]): Promise<string[]> {
  holdDecisions([service.deps, other.deps], requests.length);
  const outcomes = await Promise.all(
    requests.map((asked, index) => outcomeOf(index % 2 === 0 ? service : other, asked)),
  );
  return outcomes.toSorted();
}

const times = <Item>(count: number, item: Item): Item[] => Array.from({ length: count }, () => item);

test('20 refunds of one agent key at once on 20 payments pass its limit per day five times', async () => {
  await storePolicies(service, {});
  const apiKey = await agentKey(service, { maxPerDay: 10_000 });
  const payments = await Promise.all(times(20, null).map(() => payment()));
  const requests = payments.map((id) => refundRequest(service, id, { amount: 2_000n, apiKey }));
  expect(await allAtOnce(requests)).toEqual([...times(15, 'policy_denied'), ...times(5, 'processing')]);
  const another = await agentKey(service, { maxPerDay: 2_000 });
  const ownLimit = refundRequest(service, await payment(), { amount: 2_000n, apiKey: another });
  expect(await outcomeOf(service, ownLimit)).toBe('processing');
});

describe('an ended refund gives its part back', () => {
  async function cancelled(transactionId: string, apiKey: RequestingKey | null): Promise<void> {
    const { refund } = await createRefund(service.deps, refundRequest(service, transactionId, asked(apiKey)));
    const { status } = await service.call('POST', `/v1/refunds/${refund.id}/cancel`);
    expect(status).toBe(200);
  }
  async function failed(transactionId: string, apiKey: RequestingKey | null): Promise<void> {
    const { refund } = await createRefund(service.deps, refundRequest(service, transactionId, asked(apiKey)));
    await advanceRefund(service.deps, refund.id);
    const { externalRefundId } = await rowOf(service, refund.id);
    await service.sandbox.driveRefund(externalRefundId ?? '', { status: 'failed' });
    await makeDue(service, refund.id);
    await advanceRefund(service.deps, refund.id);
    expect((await rowOf(service, refund.id)).status).toBe('failed');
  }
  const asked = (apiKey: RequestingKey | null) => ({ amount: 2_000n, apiKey });

  test.each([
    ['threshold of a policy', null, 'pending'],
    ['threshold of a key', { approvalAbove: 2_000 }, 'pending'],
    ['limit per payment of a key', { maxPerPayment: 2_000 }, 'policy_denied'],
    ['limit per day of a key', { maxPerDay: 2_000 }, 'policy_denied'],
  ])('of a %s', async (_what, limits, otherwise) => {
    await storePolicies(service, limits === null ? { approvalAbove: { api: 2_000 } } : {});
    const apiKey = limits === null ? null : await agentKey(service, limits);
    const transactionId = await payment();
    const outcome = () => outcomeOf(service, refundRequest(service, transactionId, asked(apiKey)));
    await cancelled(transactionId, apiKey);
    await failed(transactionId, apiKey);
    expect([await outcome(), await outcome()]).toEqual(['processing', otherwise]);
  });
});

test('refunds made elsewhere count', async () => {
  await storePolicies(service, { approvalAbove: { api: 2_000 } });
  const transactionId = await payment();
  await refundDirectly(service, { processor: 'stripe', transactionId, amount: 1_500 });
  const outcome = () => outcomeOf(service, refundRequest(service, transactionId, { amount: 500n }));
  expect([await outcome(), await outcome()]).toEqual(['processing', 'pending']);
});
