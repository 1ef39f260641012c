import type { DatabaseTransaction, Refund } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import type { AccountName } from '../../processors/accounts/connections.ts';
import type { WebhookEvent } from '../../processors/contract/processor.ts';
import type { RefundDependencies } from './dependencies.ts';

/**
 * Requests that a worker reads a refund again from its processor; see prisma/functions/refunds/request_resync.sql.
 * @param tx the caller's database transaction; the caller enqueues the refund after the commit.
 * @returns false for a refund that awaits approval: it has never been at the processor.
 */
export async function requestResync(tx: DatabaseTransaction, { id }: Pick<Refund, 'id'>): Promise<boolean> {
  const [row] = await tx.$queryRaw<{ requested: boolean }[]>`SELECT request_resync(${id}) AS requested`;
  return row?.requested ?? false;
}

/**
 * - `recorded`: the event is stored, and its refund or payment is read again unless the event agrees with the record.
 * - `duplicate`: the event was stored before.
 * - `unconcerned`: it is not about a refund; nothing is stored.
 * - `other-environment`: it belongs to the other environment of the account; nothing is stored.
 */
export type EventOutcome = 'recorded' | 'duplicate' | 'unconcerned' | 'other-environment';

/**
 * Stores a verified event of a processor, once; see prisma/functions/events/receive_processor_events.sql.
 * @throws when the database is unavailable. The event may be stored then; when it is sent again, it is stored once.
 */
export async function recordEvent(
  deps: Pick<RefundDependencies, 'statements' | 'queues'>,
  account: AccountName,
  event: WebhookEvent,
): Promise<EventOutcome> {
  const { subject, externalEventId, type, payload } = event;
  if (event.environment !== null && event.environment !== account.environment) return 'other-environment';
  if (subject === null) return 'unconcerned';
  const { outcome, to_resync: refundIds = [] } = await deps.statements.receive({
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
  for (const id of refundIds) deps.queues.enqueue({ id, processor: account.processor });
  return outcome as EventOutcome;
}
