import { newPayment } from '../refunds/payments.ts';
import type { ApiAnswer, TestService } from '../service.ts';
import { waitFor } from '../wait-for.ts';

// Refunds that are created while something fails.

/** The body of a refund of a tenth of a new payment. */
export async function refundOfNewPayment(service: TestService, processor: string) {
  const transactionId = await newPayment(service, { processor });
  return { transactionId, amount: 1_000, reason: 'other', processor };
}

/** Refunds a tenth of a payment through the API of the test's own process. */
export async function create(
  service: TestService,
  transactionId: string,
  headers: Record<string, string> = {},
): Promise<ApiAnswer> {
  const processor = transactionId.startsWith('ch_') ? 'stripe' : 'braintree';
  const body = { transactionId, amount: 1_000, reason: 'other', processor };
  return await service.call('POST', '/v1/refunds', { body, headers });
}

/** Waits until the refunds have met the faults that were armed for them, and their outcome is unknown. */
export async function untilAtProcessor(service: TestService, ids: readonly string[]): Promise<void> {
  await waitFor('the refunds to be at their processors', async () => {
    const sent = { id: { in: [...ids] }, work: { attemptStartedAt: { not: null } }, externalRefundId: null };
    // The attempt is on record before the call is made, which meets the fault.
    const areMet = (await service.sandbox.faults()).length === 0;
    return areMet && (await service.deps.db.refund.count({ where: sent })) === ids.length;
  });
}

/** Waits until the refunds have completed. */
export async function untilCompleted(service: TestService, ids: readonly string[]): Promise<void> {
  const completed = { id: { in: [...ids] }, status: 'completed' as const };
  await waitFor(
    `${ids.length} refunds to complete`,
    async () => (await service.deps.db.refund.count({ where: completed })) === ids.length,
    { intervalMs: 50 },
  );
}

/** Waits until every refund has completed or was cancelled, and returns how many there are. */
export async function allComplete({ deps }: TestService): Promise<number> {
  const open = { status: { notIn: ['completed' as const, 'cancelled' as const] } };
  await waitFor('every refund to complete', async () => (await deps.db.refund.count({ where: open })) === 0, {
    intervalMs: 100,
  });
  return await deps.db.refund.count();
}
