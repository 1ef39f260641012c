import { afterEach, describe, expect, test } from 'vitest';
import { createRefund } from '#shared/refunds/lifecycle/create.ts';
import type { RequestingKey } from '#shared/refunds/lifecycle/examine.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { refundDirectly } from '../../support/refunds/refund-directly.ts';
import { makeDue, rowOf } from '../../support/refunds/refund-records.ts';
import { agentKey, refundRequest } from '../../support/refunds/refund-requests.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { outcomeOf } from '../../support/refunds/two-processes.ts';
import { useService } from '../../support/use-service.ts';

// Thresholds, limits and ranges look at what all refunds of a payment come to.
const service = useService({ workers: 0 });

afterEach(() => expectInvariants(service));

const payment = (amount = 100_000) => newPayment(service, { amount });

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
  ])('its part of a %s is there for another refund', async (_what, limits, otherwise) => {
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
