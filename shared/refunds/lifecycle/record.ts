import type { Clock } from '../../platform/clock.ts';
import { newId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/log.ts';
import type { RefundQueues } from '../../platform/queues.ts';
import type { Metrics } from '../../platform/telemetry/metrics.ts';
import type { MoveItem } from '../changes/move.ts';
import { type AttemptOutcome, openAttempt } from '../model/attempts.ts';
import type { RefundEventType } from '../model/event-types.ts';
import type { Flag } from '../model/flags.ts';
import { checkMove, type RefundStatus } from '../model/states.ts';
import type { Claim, RefundStatements } from './statements.ts';
import { outcomeOf, type StepOutcome } from './step-outcome.ts';
import type { StepResult } from './step-result.ts';

/** An item of `record_refunds`. */
export type RecordItem = MoveItem &
  Omit<StepOutcome, 'moves' | 'attempt' | 'flag'> & {
    leaseToken: bigint | null;
    endsAttempt: boolean;
    isKeySpent: boolean | undefined;
    /** Whether the claim was made with a requested cancellation. */
    knowsCancel: boolean;
    /** Empty ends a flag. */
    flag: Partial<Flag> | undefined;
    /** Whether the step cannot have changed or seen the refund at the processor. */
    readsPayment: boolean;
  };

/**
 * - `recorded`: the outcome is stored.
 * - `due`: the outcome is stored, and the next step is due at once, perhaps because it was requested meanwhile.
 * - `lost`: the lease was lost; nothing is stored, and the refund is read again, unless the step only read its payment.
 * - `resync`: a resync was requested, which comes first; nothing is stored.
 */
export type RecordResult = 'recorded' | 'due' | 'lost' | 'resync';

/** What was recorded of a step. */
export interface RecordedStep {
  result: RecordResult;
  /** The types of its timeline entries, which are stored unless it was lost or a resync comes first. */
  types: RefundEventType[];
}

/**
 * Records what follows from a step in one statement, while its worker has the lease.
 * @throws TypeError for a move that is not in the state table: a bug of the caller.
 */
export async function recordStep(
  deps: { statements: RefundStatements; queues: RefundQueues; log: Logger; metrics: Metrics; clock: Clock },
  claim: Claim,
  stepResult: StepResult,
): Promise<RecordedStep> {
  const { refund, work } = claim;
  const outcome = outcomeOf(claim, stepResult);
  checkMoves(refund.status, outcome);
  const { moves, attempt: sent, flag, ...columns } = outcome;
  const attempt = endedAttempt(work, outcome);
  const { outcome: result } = await deps.statements.record({
    change: {},
    ...columns,
    refundId: refund.id,
    leaseToken: work.leaseToken,
    endsAttempt: attempt !== null,
    isKeySpent: attempt === null ? undefined : (sent?.isKeySpent ?? false),
    expected: refund.status,
    entries: moves.map((move, place) => ({
      ...move,
      ...(place === 0 && attempt !== null ? { detail: { ...move.detail, attempt } } : {}),
      eventId: newId('evt'),
    })),
    knowsCancel: work.cancelRequestedAt !== null,
    flag: flag === null ? {} : flag,
    readsPayment: claim.step === 'verify',
  });
  if (result === 'recorded' || result === 'due') {
    logOutcome(deps, refund, outcome);
    countOutcome(deps, refund, outcome, attempt?.outcome ?? null);
  }
  if (result === 'lost') {
    deps.log.warn({ refundId: refund.id }, 'the lease was lost before the outcome could be recorded');
    deps.queues.wake(refund.processor);
  }
  return { result, types: moves.map(({ type }) => type) };
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
  { metrics, clock }: { metrics: Metrics; clock: Clock },
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
  { log }: { log: Logger },
  { id: refundId, processor }: Claim['refund'],
  { moves, retrying, flag }: StepOutcome,
): void {
  const isTrouble = retrying === true || flag != null || moves.some(({ to }) => to === 'failed');
  for (const { type, detail = {} } of moves) {
    if (isTrouble) log.warn({ refundId, processor, detail }, type);
    else log.info({ refundId, processor, detail }, type);
  }
}
