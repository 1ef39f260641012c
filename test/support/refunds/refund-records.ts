import type { DatabaseTransaction, Prisma, Refund, RefundWork } from '#shared/platform/database.ts';
import { newId } from '#shared/platform/ids.ts';
import type { RefundSubmission } from '#shared/processors/contract/processor.ts';
import { type Attempt, attemptsOf } from '#shared/refunds/model/attempts.ts';
import type { TestService } from '../service.ts';
import { waitFor } from '../wait-for.ts';

/** An id as ours are, of a refund that is nowhere. */
export const unknownRefundId = 'ref_01kahw3v6me8fbw6r5k2jdz7qs';

/** All that is on record of a refund: its row, its open work as far as there is any, and its attempts. */
export type RefundRecord = Refund & {
  work: RefundWork | null;
  /** The last one first. */
  attempts: Attempt[];
  attemptCount: number;
} & Pick<RefundWork, keyof typeof nothingToDo>;

const nothingToDo = {
  dueAt: null,
  leasedUntil: null,
  leaseToken: null,
  unknownSince: null,
  resyncRequestedAt: null,
  cancelRequestedAt: null,
  retryingSince: null,
  consecutiveFailures: 0,
  flaggedAt: null,
  flagReason: null,
  flagFacts: {},
};

export async function rowOf({ deps }: Pick<TestService, 'deps'>, refundId: string): Promise<RefundRecord> {
  const [record] = await recordsOf(deps.db, { id: refundId });
  if (record === undefined) throw new Error(`There is no refund ${refundId}`);
  return record;
}

/** Everything on record of the refunds that a condition selects, in the order of their ids. */
export async function recordsOf(
  db: DatabaseTransaction,
  where: Prisma.RefundWhereInput = {},
): Promise<RefundRecord[]> {
  const refunds = await db.refund.findMany({
    where,
    include: { work: true, events: { orderBy: { seq: 'asc' } } },
    orderBy: { id: 'asc' },
  });
  return refunds.map(({ events, ...refund }) => {
    const attempts = attemptsOf(events, refund.work).toReversed();
    const { refundId: _, organizationId: __, environment: ___, processor: ____, ...work } = refund.work ?? {};
    return { ...nothingToDo, ...work, ...refund, attempts, attemptCount: attempts[0]?.number ?? 0 };
  });
}

/** Makes a refund due now; whoever holds it goes on holding it. */
export async function makeDue({ deps }: Pick<TestService, 'deps'>, refundId: string): Promise<void> {
  await deps.db.$executeRaw`
    UPDATE refund_work SET due_at = service_time() WHERE refund_id = ${refundId}`;
}

/** Waits until the refund has this status. */
export async function untilStatus(
  service: TestService,
  refundId: string,
  status: string,
): Promise<RefundRecord> {
  return await waitFor(`refund ${refundId} to be ${status}`, async () => {
    const refund = await rowOf(service, refundId);
    return refund.status === status ? refund : null;
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

/** The types of a refund's events, in their order. */
export async function timelineOf({ deps }: TestService, refundId: string): Promise<string[]> {
  const events = await deps.db.refundEvent.findMany({ where: { refundId }, orderBy: { seq: 'asc' } });
  return events.map(({ type }) => type);
}

/** The last entry of a refund's timeline. */
export async function lastEventOf({ deps }: TestService, { id }: { id: string }) {
  return await deps.db.refundEvent.findFirstOrThrow({ where: { refundId: id }, orderBy: { seq: 'desc' } });
}

/** What a processor is asked for a new refund of 15.00 USD, unless changed. */
export function submissionFor(
  transactionId: string,
  changes: Partial<RefundSubmission> = {},
): RefundSubmission {
  const refundId = newId('ref');
  return {
    refundId,
    requestDigest: null,
    organizationId: newId('org'),
    transactionId,
    amount: 1_500n,
    currency: 'usd',
    reason: 'customer_request',
    metadata: null,
    options: {},
    idempotencyKey: `${refundId}-0`,
    ...changes,
  };
}
