import type { Prisma, Refund } from '../../shared/db.ts';
import type { Dependencies } from '../../shared/dependencies.ts';
import { formatAmount } from '../../shared/money.ts';
import type { ProcessorFailure, ProcessorRefund } from '../../shared/processors/processor.ts';
import { retryDelayMs, settlementDelayMs } from '../../shared/refunds/backoff.ts';
import type { RefundEventType } from '../../shared/refunds/event-types.ts';
import { isFlaggedForExtra } from '../../shared/refunds/flag.ts';
import { releaseLease } from '../../shared/refunds/lease.ts';
import { requestReview } from '../../shared/refunds/request-review.ts';
import { holdsReservation, type RefundStatus } from '../../shared/refunds/states.ts';
import { type RefundChanges, transition } from '../../shared/refunds/transition.ts';
import { lockTransaction } from '../../shared/transactions/reservation.ts';
import { inFuture, type RecordContext, type StepResult, worker } from './step.ts';

/** What a worker learnt, as it goes on record under its lease. */
export interface Finding {
  to: RefundStatus;
  type: RefundEventType;
  changes: RefundChanges;
  detail?: Prisma.InputJsonObject;
}

/**
 * Writes what was learnt, in one database transaction, while the lease is still ours. What arrives after the lease
 * was lost is not believed any more, and not forgotten either: the refund is read again, whatever became of it meanwhile.
 */
export async function record(
  { deps, refund }: RecordContext,
  findings: readonly [Finding, ...Finding[]],
): Promise<StepResult> {
  const recorded = await deps.db.$transaction(async (tx) => {
    if (findings.some(concernsPayment)) await lockTransaction(tx, refund);
    for (const { to, type, changes, detail = {} } of findings) {
      const moved = await transition(tx, deps.clock, {
        refund,
        from: 'processing',
        to,
        guard: { fencingToken: refund.fencingToken },
        changes: { claimedUntil: null, ...changes },
        entry: { type, actor: worker, detail },
      });
      if (moved === null) return false;
    }
    return true;
  });
  if (recorded) tell(deps, refund, findings);
  else await reviewInstead(deps, refund);
  return recorded ? 'again' : 'rest';
}

/** True when the payment's row has to be locked before the refund's: what it reserves, or which refunds it has, changes. */
function concernsPayment({ to, changes }: Finding): boolean {
  return !holdsReservation(to) || typeof changes.externalRefundId === 'string';
}

async function reviewInstead(deps: Dependencies, refund: Refund): Promise<void> {
  deps.log.warn({ refundId: refund.id }, 'the lease was lost before the outcome could be written');
  await requestReview(deps.db, deps, refund);
  deps.queues.wake(refund);
}

/** What a person may want to know of is a warning; the rest is there for those who follow a refund through the log. */
function tell(deps: Dependencies, refund: Refund, findings: readonly Finding[]): void {
  for (const { to, type, changes, detail = {} } of findings) {
    const isTrouble =
      to === 'failed' || changes.retryingSince instanceof Date || changes.flaggedAt instanceof Date;
    const fields = { refundId: refund.id, processor: refund.processor, detail };
    if (isTrouble) deps.log.warn(fields, type);
    else deps.log.info(fields, type);
  }
}

/** The processor has the refund: notes its id and goes as far as its state allows. */
export async function recordAccepted(
  context: RecordContext,
  type: RefundEventType,
  found: ProcessorRefund,
): Promise<StepResult> {
  const { deps, refund } = context;
  const problem = mismatchOf(refund, found);
  const accepted: Finding = {
    to: 'processing',
    type,
    changes: {
      externalRefundId: found.id,
      acceptedAt: deps.clock.now(),
      lastOutcome: 'accepted',
      unknownSince: null,
      attemptAnswered: false,
      retryingSince: null,
      fruitlessCount: 0,
      processorStatus: found.processorStatus,
      nextActionAt: inFuture(deps, settlementPause(deps, 1)),
      ...(problem === null ? { flaggedAt: null, flagReason: null } : flag(deps, problem)),
    },
    detail: describe(found),
  };
  const moved = found.state === 'completed';
  if (found.state === 'open' || (moved && problem !== null)) return await record(context, [accepted]);
  return await record(context, [accepted, settled(found)]);
}

/** The refund has reached its end at the processor. */
export function settled(found: ProcessorRefund): Finding {
  const to = found.state === 'open' ? 'processing' : found.state;
  const failure = found.failure ?? {
    code: 'processor_failed',
    message: `The processor reports the refund as ${found.processorStatus}.`,
  };
  return {
    to,
    type: `refund.${to}`,
    changes: {
      processorStatus: found.processorStatus,
      cancelRequestedAt: null,
      flaggedAt: null,
      flagReason: null,
      ...(to === 'failed' ? { failureCode: failure.code, failureMessage: failure.message } : {}),
    },
    detail: describe(found),
  };
}

/** The refund will never be at the processor. */
export function failed(failure: ProcessorFailure, changes: RefundChanges = {}): Finding {
  return {
    to: 'failed',
    type: 'refund.failed',
    changes: {
      ...changes,
      unknownSince: null,
      cancelRequestedAt: null,
      failureCode: failure.code,
      failureMessage: failure.message,
    },
    detail: { ...failure },
  };
}

/** Why what the processor has is not what was asked; null when it is. */
export function mismatchOf(refund: Refund, found: ProcessorRefund): string | null {
  if (found.amount === refund.amount && found.currency === refund.currency) return null;
  return `The processor has ${formatAmount(found.amount, found.currency)} under ${found.id}, asked were ${formatAmount(refund.amount, refund.currency)}.`;
}

/**
 * Keeps the refund's status and says why a person has to look; a reason that stands already, or that has to wait for
 * another one, is not told twice, unless there are changes besides. It is tried again slowly, because what a person mends is often not mended here.
 */
export async function askPerson(
  context: RecordContext,
  type: RefundEventType,
  reason: string,
  changes: RefundChanges = {},
): Promise<StepResult> {
  const { deps, refund } = context;
  const fruitlessCount = refund.fruitlessCount + 1;
  const nextActionAt = inFuture(deps, deps.settings.MISCONFIGURED_RETRY_MS);
  const isCovered = refund.flagReason === reason || isFlaggedForExtra(refund);
  if (isCovered && Object.keys(changes).length === 0) {
    await releaseLease(deps, refund, { nextActionAt, fruitlessCount });
  } else {
    const flagged = { ...changes, fruitlessCount, nextActionAt, ...flag(deps, reason) };
    await record(context, [{ to: 'processing', type, changes: flagged, detail: { reason } }]);
  }
  return 'rest';
}

/** Asks for a person, in the refund's row. */
function flag(deps: Dependencies, reason: string): { flaggedAt: Date; flagReason: string } {
  return { flaggedAt: deps.clock.now(), flagReason: reason };
}

/**
 * What goes on record of a try that brought no answer of the processor: since when there is trouble and, once that is
 * longer than the horizon, a flag for a person.
 */
export function stillUnknown(
  context: RecordContext,
  failure: ProcessorFailure,
): RefundChanges & { retryingSince: Date } {
  const { deps, refund } = context;
  const retryingSince = refund.retryingSince ?? deps.clock.now();
  const troubledMs = deps.clock.now().getTime() - retryingSince.getTime();
  if (troubledMs < deps.settings.UNKNOWN_HORIZON_MS || refund.flaggedAt !== null) return { retryingSince };
  const trouble =
    refund.externalRefundId === null
      ? 'Its outcome at the processor is unknown'
      : 'The processor has it and has not answered for too long';
  return { retryingSince, ...flag(deps, `${trouble}; the processor last said: ${failure.message}`) };
}

/** Why a person is asked when the processor refuses an account's credentials. */
export function accountUnusable({ message }: ProcessorFailure): string {
  return `The processor account cannot be used: ${message}`;
}

/** The pause before the same is tried again. */
export function retryPause(
  deps: Dependencies,
  fruitlessCount: number,
  retryAfterMs: number | null = null,
): number {
  const { RETRY_BASE_MS: baseMs, RETRY_CAP_MS: capMs } = deps.settings;
  return retryDelayMs(fruitlessCount, { baseMs, capMs }, deps.random, retryAfterMs);
}

/** The pause before settlement is asked for again. */
export function settlementPause(deps: Dependencies, fruitlessCount: number): number {
  const { SETTLEMENT_BASE_MS: baseMs, SETTLEMENT_CAP_MS: capMs } = deps.settings;
  return settlementDelayMs(fruitlessCount, { baseMs, capMs }, deps.random);
}

/** What the processor said of a refund, for the timeline. */
export function describe(found: ProcessorRefund): Prisma.InputJsonObject {
  const failure = found.failure === null ? {} : { code: found.failure.code, message: found.failure.message };
  return { externalRefundId: found.id, processorStatus: found.processorStatus, ...failure };
}
