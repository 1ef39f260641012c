import { type AuditAction, writeAudit } from '../../audit/audit-log.ts';
import { lockPaymentOf, markPaymentStale } from '../../payments/payment.ts';
import type { Clock } from '../../platform/clock.ts';
import {
  type Database,
  type DatabaseTransaction,
  type Prisma,
  type Refund,
  type RefundWork,
  type Stores,
  serviceTime,
} from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { RefundQueues } from '../../platform/queues.ts';
import { isLive } from '../../processors/contract/processor.ts';
import { canBeDismissed, endFlag } from '../changes/flag.ts';
import { type Move, moveRefund } from '../changes/move.ts';
import {
  claimFlagged,
  endFlaggedWork,
  type FlaggedClaim,
  releaseFlagged,
  requestResync,
} from '../changes/work.ts';
import { openAttempt } from '../model/attempts.ts';
import { flagOf, processorFacts } from '../model/flags.ts';
import type { RefundWithWork } from '../model/refund.ts';
import { canMove } from '../model/states.ts';
import { findOfAccount } from '../queries/find-refunds.ts';
import { readGivenReason } from './approve.ts';
import {
  contradictionOf,
  type Evidence,
  type EvidenceDependencies,
  gatherEvidence,
  type ResolvedStatus,
} from './evidence.ts';

/** How a person wants a flagged refund to end. */
export interface Resolution {
  status: ResolvedStatus;
  /** For the timeline and the audit log. */
  reason: string;
  /** The processor's id of a refund that completed; null for the one on record. */
  externalRefundId: string | null;
  /** Also where the processor contradicts it or cannot be read. */
  force: boolean;
}

/**
 * The outcome of a person's decision about a flagged refund. Unless it is `done`, nothing was changed.
 * - `not-flagged`: the refund is not flagged any more.
 * - `leased`: a worker or another person has its lease until then.
 * - `not-allowed`: its status does not allow this.
 * - `contradicted`: the processor contradicts it or cannot be read; `forceable` if `force` would help.
 * - `changed`: the refund or its flag changed meanwhile.
 */
export type ResolutionOutcome =
  | { kind: 'done'; refund: Refund }
  | { kind: 'not-flagged' | 'not-allowed' | 'changed'; refund: Refund }
  | { kind: 'leased'; refund: Refund; until: Date }
  | { kind: 'contradicted'; refund: Refund; evidence: string; forceable: boolean };

/** True when a person may give a flagged refund this status. One that awaits approval is approved or rejected instead. */
export function canBeResolved({ status: from }: Pick<Refund, 'status'>, to: ResolvedStatus): boolean {
  return from !== 'pending' && canMove(from, to);
}

/**
 * Gives a flagged refund its final status. The processor is read first, under a lease that shuts late workers out. A
 * completed refund fails on evidence alone. A refund that fails or is cancelled gives its amount back, except for what the
 * processor shows as moved.
 * @throws ServiceError validation_error for a reason that is not printable, or a processor's id that is missing, not
 * expected, or another refund's.
 */
export async function resolveRefund(
  deps: Stores & EvidenceDependencies,
  loaded: RefundWithWork,
  actor: string,
  resolution: Resolution,
): Promise<ResolutionOutcome> {
  const asked = checkResolution(loaded, resolution);
  const { status, force } = asked;
  const flaggedAt = loaded.work?.flaggedAt ?? null;
  if (flaggedAt === null) return { kind: 'not-flagged', refund: loaded };
  if (!canBeResolved(loaded, status)) return { kind: 'not-allowed', refund: loaded };
  const claimed = await claimFlagged(deps, loaded, flaggedAt);
  if (claimed === null) return await changed(deps, loaded);
  const { refund } = claimed;
  try {
    const evidence = await gatherEvidence(deps, claimed, asked.externalRefundId);
    const contradiction = contradictionOf(refund, status, evidence);
    const forceable = refund.status === 'processing';
    if (contradiction !== null && !(force && forceable)) {
      return { kind: 'contradicted', refund, evidence: contradiction, forceable };
    }
    const forced = contradiction !== null;
    const resolved = await deps.db.$transaction((tx) =>
      record(tx, deps, claimed, { ...asked, actor, evidence, forced }),
    );
    if (resolved !== null) return { kind: 'done', refund: resolved };
  } finally {
    // Once resolved it has no lease; in every other case workers continue with it.
    await releaseFlagged(deps, claimed);
  }
  return await changed(deps, refund);
}

/**
 * Ends the flag of a refund that has ended, or the flag for an extra refund in any status. Nothing moves, and the same
 * discrepancy is not flagged again.
 * @throws ServiceError validation_error for a reason that is not printable.
 */
export async function dismissFlag(
  deps: Stores,
  loaded: RefundWithWork,
  actor: string,
  reason: string,
): Promise<ResolutionOutcome> {
  const words = readGivenReason(reason);
  if (loaded.work?.flaggedAt == null) return { kind: 'not-flagged', refund: loaded };
  if (!canBeDismissed(loaded)) return { kind: 'not-allowed', refund: loaded };
  const settled = await deps.db.$transaction(async (tx) => {
    const flag = await endFlag(tx, loaded, { actor, reason: words });
    if (flag === null) return false;
    // What moved without a reservation counts as refunded outside, once the payment is read again.
    await markPaymentStale(tx, await lockPaymentOf(tx, loaded));
    const detail = { reason: words, settled: flag };
    await audit(tx, deps, loaded, { actor, action: 'refund.flag_dismissed', detail });
    return true;
  });
  return settled ? { kind: 'done', refund: loaded } : await changed(deps, loaded);
}

/**
 * Requests a read of the refund from its processor, in any status.
 * @returns false for a refund that awaits approval: it has never been at the processor.
 */
export async function recheckRefund(
  deps: Stores & { queues: RefundQueues },
  refund: Refund,
  actor: string,
): Promise<boolean> {
  const requested = await deps.db.$transaction(async (tx) => {
    if (!(await requestResync(tx, refund))) return false;
    await audit(tx, deps, refund, { actor, action: 'refund.rechecked' });
    return true;
  });
  if (requested) deps.queues.wake(refund.processor);
  return requested;
}

function checkResolution(refund: Refund, asked: Resolution): Resolution {
  const { status, externalRefundId } = asked;
  const reason = readGivenReason(asked.reason);
  if (externalRefundId !== null && !/^[\x21-\x7e]{1,255}$/.test(externalRefundId)) {
    throw new ServiceError('validation_error', 'processor refund: must be the ID at the processor.');
  }
  if (status !== 'completed' && externalRefundId !== null) {
    throw new ServiceError('validation_error', 'processor refund: allowed only for a completed refund.');
  }
  if (status === 'completed' && externalRefundId === null && refund.externalRefundId === null) {
    throw new ServiceError('validation_error', 'processor refund: enter the ID of the completed refund.');
  }
  return { ...asked, reason };
}

/** Why the flag that the caller has seen could not be settled. */
async function changed(deps: { db: Database }, { id }: Pick<Refund, 'id'>): Promise<ResolutionOutcome> {
  const { work, ...refund } = await deps.db.refund.findUniqueOrThrow({
    where: { id },
    include: { work: true },
  });
  const until = work?.leasedUntil ?? null;
  if (until !== null && until > (await serviceTime(deps.db))) return { kind: 'leased', refund, until };
  return { kind: work?.flaggedAt == null ? 'not-flagged' : 'changed', refund };
}

interface Decision extends Resolution {
  actor: string;
  evidence: Evidence;
  /** True when the evidence does not allow it. */
  forced: boolean;
}

async function record(
  tx: DatabaseTransaction,
  deps: Stores,
  { refund, work }: FlaggedClaim,
  decision: Decision,
): Promise<Refund | null> {
  const { status, actor, evidence, forced } = decision;
  const detail = detailOf(work, decision);
  const payment = await lockPaymentOf(tx, refund);
  if (status === 'completed') await refuseTaken(tx, refund, decision);
  const ended = await endFlaggedWork(tx, work);
  if (ended === null) return null;
  const moved = await moveRefund(tx, {
    refund,
    from: refund.status,
    to: status,
    change: changeOf(decision),
    entry: { type: `refund.${status}`, actor, detail },
  });
  if (moved === null) throw new Error(`Refund ${refund.id} moved under the lease of its resolution`);
  // A forced decision, and one made before the latest resync, is compared with the processor again.
  if (forced || ended.isResyncRequested) await requestResync(tx, refund);
  await markPaymentStale(tx, payment, movedAnyway(status, evidence));
  await audit(tx, deps, refund, { actor, action: 'refund.resolved', detail: { ...detail, as: status } });
  return moved;
}

/** For the timeline and the audit log; `wasSettled` reads `settled`. */
function detailOf(work: RefundWork, { reason, forced, evidence }: Decision): Prisma.InputJsonObject {
  const attempt = openAttempt(work);
  const facts = evidence.kind === 'found' ? processorFacts(evidence.refund) : {};
  return {
    reason,
    settled: flagOf(work),
    forced,
    ...(attempt === null ? {} : { attempt: { ...attempt } }),
    ...(forced ? { against: { kind: evidence.kind, facts } } : {}),
  };
}

/** One refund at the processor stands for one refund here. The payment's lock keeps two resolutions from claiming it. */
async function refuseTaken(
  tx: DatabaseTransaction,
  refund: Refund,
  { externalRefundId }: Decision,
): Promise<void> {
  if (externalRefundId === null || externalRefundId === refund.externalRefundId) return;
  const taken = await findOfAccount(tx, refund.accountId, { externalRefundId });
  const other = taken.find(({ id }) => id !== refund.id);
  if (other === undefined) return;
  throw new ServiceError(
    'validation_error',
    `processor refund: ${externalRefundId} already belongs to ${other.id}.`,
  );
}

function changeOf({ status, reason, externalRefundId, evidence }: Decision): NonNullable<Move['change']> {
  const found = evidence.kind === 'found' ? evidence.refund : null;
  const read = found === null ? {} : { processorStatus: found.processorStatus };
  if (status === 'completed') return { ...read, externalRefundId };
  if (status === 'cancelled') return read;
  return {
    ...read,
    failureCode: found?.failure?.code ?? 'resolved_by_person',
    failureMessage: found?.failure?.message ?? reason,
  };
}

/** Minor units that have left the payment although the refund gives its reservation back. */
function movedAnyway(status: ResolvedStatus, evidence: Evidence): bigint {
  if (status === 'completed' || evidence.kind !== 'found') return 0n;
  return isLive(evidence.refund) ? evidence.refund.amount : 0n;
}

async function audit(
  tx: DatabaseTransaction,
  { clock }: { clock: Clock },
  { id, organizationId }: Refund,
  entry: { actor: string; action: AuditAction; detail?: Prisma.InputJsonObject },
): Promise<void> {
  await writeAudit(tx, { organizationId, target: id, ...entry }, clock.now());
}
