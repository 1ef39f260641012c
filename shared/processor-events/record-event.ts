import type { DatabaseTransaction, ProcessorAccount, Refund } from '../db.ts';
import type { Dependencies } from '../dependencies.ts';
import { newId } from '../ids.ts';
import type { WebhookEvent, WebhookSubject } from '../processors/processor.ts';
import { requestReview } from '../refunds/request-review.ts';
import { forgetTransactions } from '../transactions/forget-transactions.ts';

/**
 * What became of an event.
 * - `recorded`: it is on record, and what it is about will be read again.
 * - `duplicate`: it was on record already.
 * - `unconcerned`: it is about no refund; nothing of it is kept.
 * - `other-environment`: the account is not of the environment that it happened in; nothing of it is kept.
 */
export type EventOutcome = 'recorded' | 'duplicate' | 'unconcerned' | 'other-environment';

/**
 * Takes what a processor told by itself, once, however often and in whatever order it is told. It moves nothing by
 * itself: a refund of the account that it is about is read again by a worker, and a payment that was refunded elsewhere
 * is read again before it is next used.
 * @throws what the database throws when it cannot be worked with. Where that was in the very moment of the commit the event
 * may be on record; it is once, whichever it was, when the processor sends it again.
 */
export async function recordEvent(
  deps: Dependencies,
  account: ProcessorAccount,
  event: WebhookEvent,
): Promise<EventOutcome> {
  const { subject } = event;
  if (event.environment !== null && event.environment !== account.environment) return 'other-environment';
  if (subject === null) return 'unconcerned';
  const refunds = await deps.db.$transaction(async (tx) => {
    const about = await findRefunds(tx, account, subject);
    if (!(await insertEvent(tx, deps, account, event, subject, about))) return null;
    if (!about.some((refund) => isSame(refund, subject))) {
      // Before a refund's row, as everybody locks them.
      await forgetTransactions(tx, deps.clock, account, subject.transactionIds);
    }
    for (const refund of about) await requestReview(tx, deps, refund);
    return about;
  });
  for (const refund of refunds ?? []) deps.queues.wake(refund);
  return refunds === null ? 'duplicate' : 'recorded';
}

/** The account's own refunds that an event names, in one order for all. Those of others do not exist for it. */
async function findRefunds(
  tx: DatabaseTransaction,
  { organizationId, environment, processor }: ProcessorAccount,
  { refundId, externalRefundId }: WebhookSubject,
): Promise<Refund[]> {
  const names = [
    ...(refundId === null ? [] : [{ id: refundId }]),
    ...(externalRefundId === null ? [] : [{ externalRefundId }]),
  ];
  if (names.length === 0) return [];
  return await tx.refund.findMany({
    where: { organizationId, environment, processor, OR: names },
    orderBy: { id: 'asc' },
  });
}

/** False for an event that is on record already; a copy that comes at the same moment waits for the first one. */
async function insertEvent(
  tx: DatabaseTransaction,
  { clock }: Pick<Dependencies, 'clock'>,
  { id: accountId }: ProcessorAccount,
  { externalEventId, type, payload }: WebhookEvent,
  { externalRefundId, transactionIds }: WebhookSubject,
  [refund]: readonly Refund[],
): Promise<boolean> {
  const { count } = await tx.processorEvent.createMany({
    data: [
      {
        id: newId('pev'),
        accountId,
        externalEventId,
        type,
        payload,
        refundId: refund?.id ?? null,
        externalRefundId,
        transactionId: transactionIds[0] ?? null,
        receivedAt: clock.now(),
      },
    ],
    skipDuplicates: true,
  });
  return count === 1;
}

/**
 * False for a refund that only carries our id, and was made elsewhere: one that has another of the processor's ids than
 * ours, or the name of one that waits for approval and was never sent.
 */
function isSame(refund: Refund, { externalRefundId }: WebhookSubject): boolean {
  if (refund.status === 'pending') return false;
  return refund.externalRefundId === null || refund.externalRefundId === externalRefundId;
}
