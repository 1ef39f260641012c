import type { DatabaseTransaction, Refund } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import type { AccountName } from '../../processors/accounts/connections.ts';
import type { WebhookEvent } from '../../processors/contract/processor.ts';
import type { RefundDependencies } from './dependencies.ts';

/**
 * Has a refund read again from its processor as soon as a worker can; prisma/functions/request_resync.sql says how.
 * @param tx the caller's database transaction; the caller wakes a worker after its commit.
 * @returns false for a refund that awaits approval: it has never been at the processor.
 */
export async function requestResync(tx: DatabaseTransaction, { id }: Pick<Refund, 'id'>): Promise<boolean> {
  const [row] = await tx.$queryRaw<{ requested: boolean }[]>`SELECT request_resync(${id}) AS requested`;
  return row?.requested ?? false;
}

/**
 * What became of an event.
 * - `recorded`: it is on record, and what it is about is read again unless it says what is on record.
 * - `duplicate`: it was on record already.
 * - `unconcerned`: it is about no refund; nothing of it is kept.
 * - `other-environment`: the account is not of the environment that it happened in; nothing of it is kept.
 */
export type EventOutcome = 'recorded' | 'duplicate' | 'unconcerned' | 'other-environment';

/**
 * Takes what a processor told by itself, once; prisma/functions/receive_processor_events.sql says what follows from it.
 * @throws what the database throws when it cannot be worked with. The event may be on record then; it is once, whichever it
 * was, when the processor sends it again.
 */
export async function recordEvent(
  deps: Pick<RefundDependencies, 'statements' | 'queues'>,
  account: AccountName,
  event: WebhookEvent,
): Promise<EventOutcome> {
  const { subject, externalEventId, type, payload } = event;
  if (event.environment !== null && event.environment !== account.environment) return 'other-environment';
  if (subject === null) return 'unconcerned';
  const { outcome, woken = [] } = await deps.statements.receive({
    id: newId('pev'),
    account_id: account.id,
    external_event_id: externalEventId,
    type,
    payload,
    refund_id: subject.refundId,
    external_refund_id: subject.externalRefundId,
    processor_status: subject.processorStatus,
    refunded_amount: subject.refundedAmount,
    transaction_ids: subject.transactionIds,
  });
  for (const id of woken) deps.queues.enqueue({ id, processor: account.processor });
  return outcome as EventOutcome;
}
