import type { Prisma, Refund } from '../../platform/database.ts';
import type {
  ProcessorRefund,
  RefundArrival,
  UnavailableCause,
} from '../../processors/contract/processor.ts';
import type { RefundChange } from '../changes/move.ts';
import type { AttemptOutcome } from '../model/attempts.ts';
import type { RefundEventType } from '../model/event-types.ts';
import { type Flag, factsOf, flagOf, hasOwnFlag, isFlaggedForExtra, isSameFlag } from '../model/flags.ts';
import type { RefundStatus } from '../model/states.ts';
import { isWaitAtProcessor, type WaitingReason } from '../model/waiting.ts';
import type { Claim } from './statements.ts';
import type { ResultOf, StepResult } from './step-result.ts';

// What is stored of each result of a step. Pure functions.

/** The columns of `record_refunds` that follow from a result. Those that are left out stay as they are. */
export interface StepOutcome {
  /** Timeline entries in order, each with the status from then on. They say whether the outcome is known: is_proof.sql. */
  moves: readonly { to: RefundStatus; type: RefundEventType; detail?: Prisma.InputJsonObject }[];
  /** Columns of the refund, written with the last move. */
  change?: RefundChange;
  /** How the open attempt ended, if there is one. */
  attempt?: { outcome: AttemptOutcome; isKeySpent?: boolean };
  /** When the next step is due; null when nothing is left to do for a worker. */
  dueInMs: number | null;
  /** What the refund waits for until then; null when it moves on, and for one that has ended. */
  waitingFor: WaitingReason | null;
  /** When that expires, where the processor says so. */
  waitingUntil?: Date | undefined;
  /** True starts the time to the retry deadline unless it runs, false ends it. */
  retrying?: boolean;
  consecutiveFailures?: number;
  /** True when the entry attempt.misconfigured proves that no attempt was applied. */
  isRefused?: true;
  /** True when the processor keeps the attempt for a reviewer: no other one follows. */
  awaitsApproval?: true;
  /** True when the processor answered with a server error: it may carry the attempt out later. */
  serverError?: true;
  /** True when the requested cancellation is over. */
  endsCancel?: true;
  /** Flags the refund; null ends a flag. */
  flag?: Flag | null | undefined;
  /** True to record nothing when a resync has been requested. */
  unlessResync?: true;
}

/** What is stored of a result. */
export function outcomeOf(claim: Claim, result: StepResult): StepOutcome {
  const outcome = outcomes[result.kind] as (result: StepResult, claim: Claim) => StepOutcome;
  return outcome(result, claim);
}

/**
 * Not sent. The account works, and what is missing comes in time: there is no retry deadline. The processor keeps its answer to such an
 * attempt for the key, so that the next attempt takes another one.
 */
export const withoutDeadline: ReadonlySet<UnavailableCause> = new Set([
  'payment_unsettled',
  'insufficient_balance',
]);

const waitingFor: Record<UnavailableCause, WaitingReason> = {
  unreachable: 'processor_unreachable',
  unreadable: 'processor_unreachable',
  rate_limited: 'rate_limited',
  payment_busy: 'rate_limited',
  payment_unsettled: 'payment_unsettled',
  insufficient_balance: 'insufficient_balance',
};

const untroubled = { retrying: false, consecutiveFailures: 0 } as const;
const ended = { dueInMs: null, waitingFor: null, endsCancel: true, flag: null } as const;
const reviewed = { dueInMs: null, waitingFor: null } as const;

const outcomes: {
  [Kind in StepResult['kind']]: (result: ResultOf<Kind>, claim: Claim) => StepOutcome;
} = {
  payment_stored: () => ({ moves: [], dueInMs: 0, waitingFor: null, consecutiveFailures: 0 }),
  payment_unstorable: ({ dueInMs }, claim) => ({
    ...{ moves: [], dueInMs, waitingFor: null },
    consecutiveFailures: failuresWith(claim),
  }),
  not_applied: ({ cause, failure, flag, dueInMs }, claim) => ({
    moves: [{ to: 'processing', type: 'attempt.unavailable', detail: { ...failure } }],
    attempt: { outcome: 'unavailable', isKeySpent: withoutDeadline.has(cause) || isFirstWithKey(claim) },
    ...{ dueInMs, waitingFor: waitingFor[cause], flag },
    retrying: !withoutDeadline.has(cause),
    consecutiveFailures: failuresWith(claim),
  }),
  credentials_refused: ({ flag, dueInMs }, claim) => ({
    ...credentialsRefused(claim, flag, dueInMs),
    isRefused: true,
  }),
  payment_missing: ({ flag, dueInMs }, claim) => credentialsRefused(claim, flag, dueInMs),
  perhaps_applied: ({ failure, isKeySpent, serverError, flag, dueInMs }, claim) => ({
    moves: [{ to: 'processing', type: 'attempt.unknown', detail: { ...failure } }],
    attempt: { outcome: 'unknown', isKeySpent },
    ...{ dueInMs, waitingFor: 'unknown_outcome', flag },
    ...troubled(claim),
    ...(serverError ? { serverError: true } : {}),
  }),
  approval_at_processor: ({ by, flag, dueInMs }, claim) => ({
    ...flagged(claim, by, flag, { isNews: by === 'attempt.unknown' }),
    ...{ dueInMs, waitingFor: 'approval_at_processor' },
    attempt: { outcome: 'unknown' },
    awaitsApproval: true,
  }),
  accepted: ({ by, found, flag, dueInMs }) => ({
    moves: [{ to: 'processing', type: by, detail: describe(found) }],
    change: { externalRefundId: found.id, ...asRead(found) },
    attempt: { outcome: 'accepted' },
    ...{ dueInMs, flag, ...waitThere(found), ...untroubled },
  }),
  inconclusive: ({ conclusiveAt, dueInMs }) => ({
    moves: [
      {
        ...{ to: 'processing', type: 'lookup.inconclusive' },
        detail: { conclusiveAt: conclusiveAt.toISOString() },
      },
    ],
    ...{ dueInMs, waitingFor: 'unknown_outcome' },
  }),
  absent: ({ hadNoAccount }) => ({
    moves: [{ to: 'processing', type: 'lookup.absent' }],
    // The attempt of a killed worker was not applied.
    attempt: { outcome: 'unavailable' },
    ...{ dueInMs: 0, waitingFor: null, flag: null },
    ...(hadNoAccount ? { retrying: false } : {}),
  }),
  lookup_refused: ({ flag, dueInMs }, claim) => ({
    ...flagged(claim, 'lookup.flagged', flag, { isNews: claim.work.retryingSince === null }),
    ...{ dueInMs, waitingFor: 'credentials', retrying: true },
  }),
  open: ({ found, flag, dueInMs }, claim) => ({
    ...progressOf(claim, found, flag),
    ...{ dueInMs, ...waitThere(found) },
    retrying: false,
    consecutiveFailures: failuresWith(claim),
  }),
  flagged: ({ by, waitingFor, flag, dueInMs }, claim) => ({
    ...flagged(claim, by, flag, { isNews: false }),
    ...{ dueInMs, waitingFor },
  }),
  unanswered: ({ by, failure, flag, dueInMs }, claim) => ({
    moves: [{ to: 'processing', type: by, detail: { ...failure } }],
    ...{ dueInMs, waitingFor: 'unknown_outcome', flag },
    ...troubled(claim),
  }),
  unread: ({ cause, flag, dueInMs }, claim) => ({
    moves: flag === undefined ? [] : [{ to: claim.refund.status, type: flaggedIn(claim), detail: { flag } }],
    ...{ dueInMs, flag, ...waitUnread(claim, cause) },
    ...troubled(claim),
  }),
  cancel_refused: ({ failure, found, dueInMs }) => ({
    moves: [{ to: 'processing', type: 'cancel.refused', detail: { ...failure } }],
    ...{ dueInMs, ...waitThere(found), ...untroubled },
    endsCancel: true,
  }),
  unchanged: ({ dueInMs }) => ({ moves: [], dueInMs, waitingFor: null }),
  agreed: ({ arrival }, { refund: { status: to }, work }) => ({
    moves: [
      ...(hasOwnFlag(work) ? [{ to, type: 'review.agreed' } as const] : []),
      ...(arrival === null ? [] : [{ to, type: 'arrival.known', detail: { ...arrival } } as const]),
    ],
    ...(arrival === null ? {} : { change: { arrival } }),
    ...(hasOwnFlag(work) ? { flag: null } : {}),
    ...reviewed,
  }),
  differs: ({ flag }, { refund }) => ({
    moves: [{ to: refund.status, type: 'review.flagged', detail: { flag } }],
    ...{ flag, ...reviewed },
  }),
  reversed: ({ found }, { refund }) => {
    const { code, message } = found.failure ?? {
      code: 'reversed',
      message: `The processor reversed the refund (status: ${found.processorStatus}).`,
    };
    return {
      moves: [{ to: 'failed', type: 'refund.failed', detail: { ...describe(found), code, message } }],
      change: { processorStatus: found.processorStatus, failureCode: code, failureMessage: message },
      flag: { reason: 'returned', facts: { ...factsOf(refund, found), message } },
      ...reviewed,
    };
  },
  settled: ({ to, found, by }) => {
    const move = { to, type: `refund.${to}`, detail: describe(found) } as const;
    const noted = { to: 'processing', type: 'lookup.found', detail: describe(found) } as const;
    const { code, message } = found.failure ?? {
      code: 'processor_failed',
      message: `The processor reports the refund as ${found.processorStatus}.`,
    };
    return {
      ...ended,
      // The end of a refund that was just sent says that it was accepted; that it was looked up is noted beside its end.
      moves: by === 'lookup.found' ? [noted, move] : [move],
      change: {
        ...(by === null ? {} : { externalRefundId: found.id }),
        ...asRead(found),
        ...(to === 'failed' ? { failureCode: code, failureMessage: message } : {}),
      },
      ...(by === null ? {} : { attempt: { outcome: 'accepted' } }),
    };
  },
  failed: ({ failure, attempt }) => ({
    ...ended,
    moves: [{ to: 'failed', type: 'refund.failed', detail: { ...failure } }],
    change: { failureCode: failure.code, failureMessage: failure.message },
    attempt: { outcome: attempt },
  }),
  cancelled_unsent: () => ({
    ...ended,
    moves: [{ to: 'cancelled', type: 'refund.cancelled', detail: { sent: false } }],
    unlessResync: true,
  }),
};

function failuresWith({ work }: Claim): number {
  return work.consecutiveFailures + 1;
}

function troubled(claim: Claim) {
  return { retrying: true, consecutiveFailures: failuresWith(claim) };
}

/**
 * True only when no earlier attempt had this one's key; false for all attempts after one that kept its key, which is safe. After such an
 * attempt that is known not to be applied, the next one uses a new key: Stripe may keep a refusal for the key
 * (https://docs.stripe.com/api/idempotent_requests) and repeat it after the cause is gone. An earlier attempt with the same key had an
 * unknown outcome, which the key still guards.
 */
function isFirstWithKey({ work: { attemptNumber, idempotencyKeyVersion } }: Claim): boolean {
  return attemptNumber === idempotencyKeyVersion;
}

/** The time to the retry deadline begins again with new credentials. */
function credentialsRefused(claim: Claim, flag: Flag, dueInMs: number): StepOutcome {
  return {
    ...flagged(claim, 'attempt.misconfigured', flag, { isNews: true }),
    attempt: { outcome: 'misconfigured', isKeySpent: isFirstWithKey(claim) },
    ...{ dueInMs, waitingFor: 'credentials', retrying: false },
  };
}

/**
 * The refund keeps its status. The same flag is not noted twice, nor is one beside the flag for an extra refund, unless there is more to
 * record.
 */
function flagged(
  claim: Claim,
  type: RefundEventType,
  flag: Flag,
  { isNews }: { isNews: boolean },
): Pick<StepOutcome, 'moves' | 'consecutiveFailures' | 'flag'> {
  const { refund, work } = claim;
  const isCovered = isSameFlag(flagOf(work), flag) || isFlaggedForExtra(work);
  const isNoted = isCovered && !isNews;
  return {
    moves: isNoted ? [] : [{ to: refund.status, type, detail: { flag } }],
    consecutiveFailures: failuresWith(claim),
    ...(isNoted ? {} : { flag }),
  };
}

function flaggedIn({ refund }: Claim): RefundEventType {
  return refund.status === 'processing' ? 'settlement.flagged' : 'review.flagged';
}

/** What has changed of an open refund. A flag stands for as long as its cause is seen. */
function progressOf(
  { refund, work }: Claim,
  found: ProcessorRefund,
  flag: Flag | null,
): Pick<StepOutcome, 'moves' | 'change' | 'flag'> {
  const { processorStatus } = found;
  const isFlagged = isSameFlag(flagOf(work), flag) || (flag === null && !hasOwnFlag(work));
  const hasChanged = processorStatus !== refund.processorStatus || hasNewArrival(refund, found) || !isFlagged;
  if (!hasChanged) return { moves: [] };
  const detail = flag === null ? { processorStatus } : { processorStatus, flag };
  return { moves: [{ to: 'processing', type: 'settlement.progress', detail }], change: asRead(found), flag };
}

/** What an open refund waits for at the processor. */
function waitThere({ waitsFor, dueBy }: Pick<ProcessorRefund, 'waitsFor' | 'dueBy'>): Wait {
  return {
    waitingFor: waitsFor ?? 'settlement',
    ...(waitsFor === 'customer_action' && { waitingUntil: dueBy }),
  };
}

/** What keeps the money there keeps it in an outage as well. */
function waitUnread({ refund: { status }, work }: Claim, cause: UnavailableCause): Wait {
  if (status !== 'processing') return { waitingFor: null };
  return isWaitAtProcessor(work.waitingFor)
    ? { waitingFor: work.waitingFor, waitingUntil: work.waitingUntil ?? undefined }
    : { waitingFor: waitingFor[cause] };
}

type Wait = Pick<StepOutcome, 'waitingFor' | 'waitingUntil'>;

/** What is stored of the processor's refund besides its id. */
function asRead({ processorStatus, arrival }: ProcessorRefund): RefundChange {
  return { processorStatus, ...(arrival && { arrival }) };
}

/** True when the processor has said how the customer gets the money, and that is not stored. */
export function hasNewArrival(
  { arrival: stored }: Pick<Refund, 'arrival'>,
  { arrival: read }: Pick<ProcessorRefund, 'arrival'>,
): boolean {
  const { kind = null, reference = null } = (stored ?? {}) as Partial<RefundArrival>;
  return read !== undefined && (read.reference !== reference || read.kind !== kind);
}

/** The processor's refund, for the timeline. */
function describe(found: ProcessorRefund): Prisma.InputJsonObject {
  const failure = found.failure === null ? {} : { code: found.failure.code, message: found.failure.message };
  return { externalRefundId: found.id, processorStatus: found.processorStatus, ...failure };
}
