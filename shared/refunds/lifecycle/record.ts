import type { Dependencies } from '../../dependencies.ts';
import type { Prisma } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import { type AttemptOutcome, openAttempt } from '../model/attempts.ts';
import type { RefundEventType } from '../model/event-types.ts';
import type { Flag } from '../model/flags.ts';
import { checkMove, type RefundStatus } from '../model/states.ts';
import type { WaitingReason } from '../model/waiting.ts';
import type { MoveItem, RefundChange } from './move.ts';
import type { Claim } from './statements.ts';

/** What follows from a step for its refund. Fields that are left out stay as they are. */
export interface StepOutcome {
  /** Timeline entries in order, each with the status from then on. */
  moves: readonly { to: RefundStatus; type: RefundEventType; detail?: Prisma.InputJsonObject }[];
  /** Columns of the refund, written with the last move. */
  change?: RefundChange;
  /** How the attempt ended, when this is its end. */
  attempt?: { outcome: AttemptOutcome; keySpent?: boolean };
  /** When the next step is due; null when nothing is left to do for a worker. */
  dueInMs: number | null;
  /** What the refund waits for until then; null when it moves on, and for one that has ended. */
  waitingFor: WaitingReason | null;
  /** When that expires, where the processor says so. */
  waitingUntil?: Date | undefined;
  /** True starts the time to the retry deadline unless it runs, false ends it. */
  retrying?: boolean;
  consecutiveFailures?: number;
  /** True once it is known whether the processor has the refund. */
  isKnown?: boolean;
  /** True when the processor keeps the attempt for a reviewer: no other one follows. */
  awaitsApproval?: true;
  /** True when the requested cancellation is over. */
  endsCancel?: boolean;
  /** Flags the refund; null ends a flag. */
  flag?: Flag | null;
  /** True to record nothing when a resync has been requested. */
  unlessResync?: boolean;
  /** True when the payment may differ from what is stored, so that it is read again before it is next used. */
  isPaymentStale?: boolean;
}

/** An item of `record_refunds`. */
export type RecordItem = MoveItem &
  Omit<StepOutcome, 'moves' | 'attempt' | 'flag' | 'isPaymentStale'> & {
    leaseToken: bigint | null;
    endsAttempt: boolean;
    isKeySpent: boolean | undefined;
    /** Whether the claim was made with a requested cancellation. */
    knowsCancel: boolean;
    /** Empty ends a flag. */
    flag: Partial<Flag> | undefined;
  };

/**
 * - `recorded`: the outcome is stored.
 * - `due`: the outcome is stored, and the next step is due at once, perhaps because it was requested meanwhile.
 * - `lost`: the lease was lost; nothing is stored, and the refund is read again.
 * - `resync`: a resync was requested, which comes first; nothing is stored.
 */
export type RecordResult = 'recorded' | 'due' | 'lost' | 'resync';

/**
 * Records a step's outcome in one statement, while its worker holds the lease.
 * @throws TypeError for a move that is not in the state table: a bug of the caller.
 */
export async function recordOutcome(
  deps: Pick<Dependencies, 'statements' | 'queues' | 'log' | 'metrics' | 'clock'>,
  { refund, work }: Pick<Claim, 'refund' | 'work'>,
  outcome: StepOutcome,
): Promise<RecordResult> {
  checkMoves(refund.status, outcome);
  const { moves, attempt: sent, flag, isPaymentStale: _, ...columns } = outcome;
  const attempt = endedAttempt(work, outcome);
  const { outcome: result } = await deps.statements.record({
    change: {},
    ...columns,
    refundId: refund.id,
    leaseToken: work.leaseToken,
    endsAttempt: attempt !== null,
    isKeySpent: attempt === null ? undefined : (sent?.keySpent ?? false),
    expected: refund.status,
    entries: moves.map((move, place) => ({
      ...move,
      ...(place === 0 && attempt !== null ? { detail: { ...move.detail, attempt } } : {}),
      eventId: newId('evt'),
    })),
    knowsCancel: work.cancelRequestedAt !== null,
    flag: flag === null ? {} : flag,
  });
  if (result === 'recorded' || result === 'due') {
    logOutcome(deps, refund, outcome);
    countOutcome(deps, refund, outcome, attempt?.outcome ?? null);
  }
  if (result === 'lost') {
    deps.log.warn({ refundId: refund.id }, 'the lease was lost before the outcome could be recorded');
    deps.queues.wake(refund.processor);
  }
  return result;
}

/** For the first timeline entry; null when no attempt ends here. */
function endedAttempt(work: Claim['work'], { attempt }: StepOutcome) {
  const open = openAttempt(work);
  return open === null || attempt === undefined ? null : { ...open, outcome: attempt.outcome };
}

function checkMoves(status: RefundStatus, { moves }: StepOutcome): void {
  let from = status;
  for (const { to } of moves) {
    if (from !== to) checkMove(from, to);
    from = to;
  }
}

/** Attempts that ended before anything was sent. They are counted, or a processor that is down would look idle. */
const unsentOutcomes: Partial<Record<RefundEventType, AttemptOutcome>> = {
  'attempt.unavailable': 'unavailable',
  'attempt.misconfigured': 'misconfigured',
};

function countOutcome(
  { metrics, clock }: Pick<Dependencies, 'metrics' | 'clock'>,
  { processor, environment, createdAt, status }: Claim['refund'],
  { moves, change }: StepOutcome,
  sent: AttemptOutcome | null,
): void {
  const place = { processor, environment };
  const seconds = (clock.now().getTime() - createdAt.getTime()) / 1_000;
  const outcome = sent ?? (moves[0] && unsentOutcomes[moves[0].type]);
  if (outcome !== undefined) metrics.attempts.inc({ ...place, outcome });
  if (change?.externalRefundId !== undefined) metrics.acceptedSeconds.observe(place, seconds);
  if (status === 'processing' && moves.at(-1)?.to === 'completed')
    metrics.settledSeconds.observe(place, seconds);
}

function logOutcome(
  { log }: Pick<Dependencies, 'log'>,
  { id: refundId, processor }: Claim['refund'],
  { moves, retrying, flag }: StepOutcome,
): void {
  const isTrouble = retrying === true || flag != null || moves.some(({ to }) => to === 'failed');
  for (const { type, detail = {} } of moves) {
    if (isTrouble) log.warn({ refundId, processor, detail }, type);
    else log.info({ refundId, processor, detail }, type);
  }
}
