import { afterEach, beforeEach, expect } from 'vitest';
import { requestResync } from '#shared/refunds/changes/work.ts';
import type { ResolvedStatus } from '#shared/refunds/decisions/evidence.ts';
import { type Resolution, resolveRefund } from '#shared/refunds/decisions/resolve.ts';
import { endAtProcessor } from '../processors/end-at-processor.ts';
import type { TestService } from '../service.ts';
import { useService } from '../use-service.ts';
import { advanceRefund } from './advance-refund.ts';
import { newRefund } from './new-refund.ts';
import { type RefundRecord, rowOf } from './refund-records.ts';

const hourMs = 3_600_000;

/** For a service that flags unknown outcomes at once, and retries and polls nothing. */
export const flagAtOnce = {
  FLAG_UNKNOWN_AFTER_MS: 0,
  LOOKUP_SETTLE_DELAY_MS: 0,
  RETRY_BASE_MS: hourMs,
  RETRY_CAP_MS: hourMs,
  SETTLEMENT_BASE_MS: hourMs,
  SETTLEMENT_CAP_MS: hourMs,
  MISCONFIGURED_RETRY_MS: hourMs,
};

/** Gives a test file such a service, without workers and without faults. No processor settles a refund by itself. */
export function useServiceThatFlags(): TestService {
  const service = useService({ workers: 0, settings: flagAtOnce });
  beforeEach(() => service.sandbox.settings({ autoSettleMs: null, latencyMs: 0 }));
  afterEach(() => service.sandbox.clearFaults());
  return service;
}

/** A refund before any worker takes it up; 25.00 USD by default. */
export async function createdRefund(
  service: TestService,
  processor: string,
  body: { transactionId?: string; amount?: number; currency?: string } = {},
): Promise<RefundRecord> {
  const { id } = await newRefund(service, { amount: 2_500, processor, ...body });
  return await rowOf(service, id);
}

/** One whose only attempt got no answer; flagged, because the retry deadline of the service is over at once. */
export async function flaggedUnknown(
  service: TestService,
  processor: string,
  kind: string,
): Promise<RefundRecord> {
  await service.sandbox.fault({ processor, operation: 'refund.create', kind });
  const { id } = await createdRefund(service, processor);
  await advanceRefund(service.deps, id);
  const refund = await rowOf(service, id);
  expect(refund).toMatchObject({ status: 'processing', flagReason: 'outcome_unknown' });
  return refund;
}

/** Reads a refund again as a worker does after a resync request. */
export async function reviewed(service: TestService, id: string): Promise<RefundRecord> {
  await requestResync(service.deps.db, { id });
  await advanceRefund(service.deps, id);
  return await rowOf(service, id);
}

export async function completedRefund(service: TestService, processor: string): Promise<RefundRecord> {
  const { id } = await createdRefund(service, processor);
  await advanceRefund(service.deps, id);
  await endAtProcessor(service, await rowOf(service, id), 'succeeded');
  const refund = await reviewed(service, id);
  expect(refund.status).toBe('completed');
  return refund;
}

/** Resolves a refund as `cli:ada`, without force and without the processor's id of the refund unless given. */
export async function resolve(
  { deps }: Pick<TestService, 'deps'>,
  refund: RefundRecord,
  status: ResolvedStatus,
  more: Partial<Resolution> = {},
) {
  const asked = { reason: 'Seen there', externalRefundId: null, force: false, status };
  return await resolveRefund(deps, refund, 'cli:ada', { ...asked, ...more });
}
