import type { AttemptOutcome, Prisma } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import type { RefundEventType } from '../model/event-types.ts';
import type { Flag } from '../model/flags.ts';
import { checkMove, type RefundStatus } from '../model/states.ts';
import type { Claim } from './claim.ts';
import type { RefundDependencies } from './dependencies.ts';
import { asColumns, type RefundChange } from './move.ts';

/** What a worker learnt about a refund that it holds, and what follows from it. What is left out stays as it is. */
export interface Finding {
  /** In order; empty when the timeline has nothing to tell. */
  moves: readonly { to: RefundStatus; type: RefundEventType; detail?: Prisma.InputJsonObject }[];
  /** Columns of the refund, written with the last move. */
  change?: RefundChange;
  /** How the attempt ended, when this is its end. */
  attempt?: { outcome: AttemptOutcome; keySpent?: boolean };
  /** When to look again; null when nothing is left to do for a worker. */
  dueInMs: number | null;
  /** True keeps or begins the trouble that retry deadlines count from, false ends it. */
  retrying?: boolean;
  consecutiveFailures?: number;
  /** True once it is known whether the processor has the refund. */
  isKnown?: boolean;
  /** True when a request to cancel it is over. */
  endsCancel?: boolean;
  /** Flags it; null ends a flag. */
  flag?: Flag | null;
  /** True to record nothing when something says meanwhile that the processor has news. */
  unlessNews?: boolean;
}

/**
 * What became of a finding.
 * - `recorded`: it is on record.
 * - `lost`: the lease was lost, nothing of it is recorded, and the refund is read again.
 * - `news`: there is news of the refund, which has to be read first; nothing of it is recorded.
 */
export type Recording = 'recorded' | 'lost' | 'news';

/**
 * Records a finding in one statement, while the lease is still ours.
 * @throws TypeError for a move that is not in the state table, which is a bug of the caller.
 */
export async function recordFinding(
  deps: Pick<RefundDependencies, 'statements' | 'queues' | 'log'>,
  { refund, work }: Pick<Claim, 'refund' | 'work'>,
  finding: Finding,
): Promise<Recording> {
  checkMoves(refund.status, finding);
  const { change = {}, attempt, flag } = finding;
  const { outcome } = await deps.statements.record({
    refund_id: refund.id,
    lease_token: work.leaseToken,
    attempt_outcome: attempt?.outcome,
    key_spent: attempt?.keySpent,
    expected: refund.status,
    entries: finding.moves.map((move) => ({ ...move, event_id: newId('evt') })),
    change: asColumns(change),
    due_in_ms: finding.dueInMs,
    retrying: finding.retrying,
    consecutive_failures: finding.consecutiveFailures,
    is_known: finding.isKnown,
    ends_cancel: finding.endsCancel,
    flag: flag === null ? {} : flag,
    unless_resync: finding.unlessNews,
  });
  if (outcome === 'recorded') logFinding(deps, refund, finding);
  if (outcome === 'lost') {
    deps.log.warn({ refundId: refund.id }, 'the lease was lost before the outcome could be recorded');
    deps.queues.wake(refund);
  }
  return outcome as Recording;
}

function checkMoves(status: RefundStatus, { moves }: Finding): void {
  let from = status;
  for (const { to } of moves) {
    if (from !== to) checkMove(from, to);
    from = to;
  }
}

/** What a person may want to know of is a warning; the rest is there for those who follow a refund through the log. */
function logFinding(
  { log }: Pick<RefundDependencies, 'log'>,
  { id: refundId, processor }: Claim['refund'],
  { moves, retrying, flag }: Finding,
): void {
  const isTrouble = retrying === true || flag != null || moves.some(({ to }) => to === 'failed');
  for (const { type, detail = {} } of moves) {
    if (isTrouble) log.warn({ refundId, processor, detail }, type);
    else log.info({ refundId, processor, detail }, type);
  }
}
