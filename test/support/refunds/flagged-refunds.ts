import { expect } from 'vitest';
import { requestResync } from '../../../shared/refunds/lifecycle/resync.ts';
import { advanceRefund } from '../../../worker/advance/advance-refund.ts';
import type { TestService } from '../service.ts';
import { newPayment } from './payments.ts';
import { type RefundRecord, rowOf } from './refund-records.ts';

const hourMs = 3_600_000;

/** For a service where what is unknown is flagged at once, and nothing is tried or asked again by itself. */
export const flagAtOnce = {
  UNKNOWN_HORIZON_MS: 0,
  LOOKUP_SETTLE_DELAY_MS: 0,
  RETRY_BASE_MS: hourMs,
  RETRY_CAP_MS: hourMs,
  SETTLEMENT_BASE_MS: hourMs,
  SETTLEMENT_CAP_MS: hourMs,
  MISCONFIGURED_RETRY_MS: hourMs,
};

/** A creation that no worker has looked at yet; of 25.00 USD unless the body says otherwise. */
export async function createdRefund(
  service: TestService,
  processor: string,
  body: { transactionId?: string; amount?: number } = {},
): Promise<RefundRecord> {
  const transactionId = body.transactionId ?? (await newPayment(service, { processor }));
  const answer = await service.call('POST', '/v1/refunds', {
    body: { amount: 2_500, reason: 'other', processor, ...body, transactionId },
    headers: { prefer: 'respond-async' },
  });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return await rowOf(service, answer.body.data.id);
}

/** One whose only attempt got no answer, in a service whose retry deadline is over at once: it is flagged. */
export async function flaggedUnknown(
  service: TestService,
  processor: string,
  kind: 'reset' | 'reset-after-apply',
): Promise<RefundRecord> {
  await service.sandbox.fault({ processor, operation: 'refund.create', kind });
  const { id } = await createdRefund(service, processor);
  await advanceRefund(service.deps, id);
  const refund = await rowOf(service, id);
  expect(refund).toMatchObject({ status: 'processing', flagReason: 'outcome_unknown' });
  return refund;
}

/** Reads a refund again as a worker does when it is told of news. */
export async function reviewed(service: TestService, id: string): Promise<RefundRecord> {
  await requestResync(service.deps.db, { id });
  await advanceRefund(service.deps, id);
  return await rowOf(service, id);
}

/** One that the processor has completed, here and there. */
export async function completedRefund(service: TestService, processor: string): Promise<RefundRecord> {
  const { id } = await createdRefund(service, processor);
  await advanceRefund(service.deps, id);
  const { externalRefundId } = await rowOf(service, id);
  const status = processor === 'stripe' ? 'succeeded' : 'settled';
  await service.sandbox.driveRefund(externalRefundId ?? '', { status });
  const refund = await reviewed(service, id);
  expect(refund.status).toBe('completed');
  return refund;
}
