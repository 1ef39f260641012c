import { formatAmount } from '#shared/money/money.ts';
import { type Database, type Prisma, type RefundEvent, serviceTime } from '#shared/platform/database.ts';
import { recoveryRequiredSince } from '#shared/refunds/lifecycle/recovery.ts';
import { attemptsOf } from '#shared/refunds/model/attempts.ts';
import { wordsFor } from '#shared/refunds/model/flag-wording.ts';
import { flagOf } from '#shared/refunds/model/flags.ts';
import { toPublicRefund } from '#shared/refunds/model/refund.ts';
import { type Waiting, waitingOf } from '#shared/refunds/model/waiting.ts';
import { type Cell, printData, printFields, printJson, printTable } from '../console/output.ts';
import { CommandError } from '../console/session.ts';

/** A refund with its open work and its timeline. */
type RefundInFull = Prisma.RefundGetPayload<{ include: { work: true; events: true } }>;

/** @throws CommandError for an unknown id. */
export async function loadRefund(db: Database, id: string): Promise<RefundInFull> {
  const refund = await db.refund.findUnique({
    where: { id },
    include: { work: true, events: { orderBy: { seq: 'asc' } } },
  });
  if (refund === null) throw new CommandError(`Refund not found: ${id}`);
  return refund;
}

/** Shows a refund's public fields, its processing state and its timeline. */
export async function showRefund(db: Database, id: string, json: boolean | undefined): Promise<void> {
  const refund = await loadRefund(db, id);
  const { events } = refund;
  const waiting = waitingOf(refund, refund.work, await recoveryRequiredSince(db), await serviceTime(db));
  const state = stateOf(refund, waiting);
  if (json) return printJson({ refund: toPublicRefund(refund), state, events: events.map(toJson) });
  const { amount, metadata, ...fields } = toPublicRefund(refund);
  printFields([
    ...Object.entries(fields),
    ['amount', `${formatAmount(refund.amount, refund.currency)} (${amount} in minor units)`],
    ['metadata', metadata === null ? null : JSON.stringify(metadata)],
    ...Object.entries(state),
  ]);
  printData('');
  printTable(events, {
    TIME: ({ createdAt }) => createdAt,
    EVENT: ({ type }) => type,
    STATUS: ({ status, previousStatus }) =>
      previousStatus === null ? status : `${previousStatus} -> ${status}`,
    ACTOR: ({ actor }) => actor,
    DETAIL: ({ detail }) =>
      Object.entries(detail as Record<string, unknown>)
        .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
        .join(' '),
  });
}

/** Why a refund is not moving, and its internal state. */
function stateOf(refund: RefundInFull, waiting: Waiting | null): Record<string, Cell> {
  const attempts = attemptsOf(refund.events, refund.work);
  const lastAttempt = attempts.at(-1);
  const flag = flagOf(refund.work);
  return {
    environment: refund.environment,
    apiKeyId: refund.apiKeyId,
    waitingFor: waiting?.reason ?? null,
    waitingSince: waiting?.since ?? null,
    waitingUntil: waiting?.until ?? null,
    attemptCount: attempts.length,
    lastOutcome: lastAttempt?.outcome ?? null,
    lastSentAt: lastAttempt?.startedAt ?? null,
    unknownSince: refund.work?.unknownSince ?? null,
    acceptedAt: refund.acceptedAt,
    processorStatus: refund.processorStatus,
    dueAt: refund.work?.dueAt ?? null,
    leasedUntil: refund.work?.leasedUntil ?? null,
    cancelRequestedAt: refund.work?.cancelRequestedAt ?? null,
    failureCode: refund.failureCode,
    failureMessage: refund.failureMessage,
    flaggedAt: refund.work?.flaggedAt ?? null,
    flag: flag === null ? null : wordsFor(flag.reason, flag.facts, refund.processor).summary,
    flagReason: flag?.reason ?? null,
  };
}

function toJson({ id, seq, type, actor, previousStatus, status, detail, createdAt }: RefundEvent) {
  return { id, seq, type, actor, previousStatus, status, detail, createdAt };
}
