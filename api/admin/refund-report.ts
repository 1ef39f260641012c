import type { Database, Refund, RefundEvent } from '../../shared/db.ts';
import { formatAmount } from '../../shared/money.ts';
import { toPublicRefund } from '../../shared/refunds/refund.ts';
import { type Cell, printData, printFields, printJson, printTable } from './output.ts';
import { CommandError } from './session.ts';

/** @throws CommandError for an unknown id. */
export async function loadRefund(db: Database, id: string): Promise<Refund> {
  const refund = await db.refund.findUnique({ where: { id } });
  if (refund === null) throw new CommandError(`No such refund: ${id}`);
  return refund;
}

/** Shows all there is to know of a refund: its public fields, how far sending it has come, and its timeline. */
export async function showRefund(db: Database, id: string, json: boolean): Promise<void> {
  const refund = await loadRefund(db, id);
  const events = await db.refundEvent.findMany({ where: { refundId: id }, orderBy: { seq: 'asc' } });
  if (json) {
    return printJson({ refund: toPublicRefund(refund), state: stateOf(refund), events: events.map(toJson) });
  }
  const { amount, metadata, ...fields } = toPublicRefund(refund);
  printFields([
    ...Object.entries(fields),
    ['amount', `${formatAmount(refund.amount, refund.currency)} (${amount} in minor units)`],
    ['metadata', metadata === null ? null : JSON.stringify(metadata)],
    ...Object.entries(stateOf(refund)),
  ]);
  printData('');
  printTable(['TIME', 'EVENT', 'STATUS', 'ACTOR', 'DETAIL'], events.map(toRow));
}

/** What the service keeps for itself; a refund that does not move shows here why. */
function stateOf(refund: Refund): Record<string, Cell> {
  return {
    environment: refund.environment,
    apiKeyId: refund.apiKeyId,
    attemptCount: refund.attemptCount,
    lastOutcome: refund.lastOutcome,
    lastSentAt: refund.lastSentAt,
    unknownSince: refund.unknownSince,
    acceptedAt: refund.acceptedAt,
    processorStatus: refund.processorStatus,
    nextActionAt: refund.nextActionAt,
    claimedUntil: refund.claimedUntil,
    cancelRequestedAt: refund.cancelRequestedAt,
    failureCode: refund.failureCode,
    failureMessage: refund.failureMessage,
    flaggedAt: refund.flaggedAt,
    flagReason: refund.flagReason,
  };
}

function toJson({ refundId: _, ...event }: RefundEvent) {
  return event;
}

function toRow({ createdAt, type, status, previousStatus, actor, detail }: RefundEvent): Cell[] {
  const details = Object.entries(detail as Record<string, unknown>).map(
    ([name, value]) => `${name}=${JSON.stringify(value)}`,
  );
  const move = previousStatus === null ? status : `${previousStatus} -> ${status}`;
  return [createdAt, type, move, actor, details.join(' ')];
}
