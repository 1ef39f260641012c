import { countRefundedOutside, lockPayment, markPaymentsStale } from '../../payments/payment.ts';
import { type AuditAction, writeAudit } from '../../platform/audit-log.ts';
import {
  type DatabaseTransaction,
  type Prisma,
  type Refund,
  type RefundWork,
  serviceTime,
} from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { isLive } from '../../processors/contract/processor.ts';
import type { RefundDependencies } from '../lifecycle/dependencies.ts';
import { claimFlagged, type FlaggedClaim, releaseFlagged } from '../lifecycle/lease.ts';
import { type Move, moveRefund, noteOnRefund } from '../lifecycle/move.ts';
import { requestResync } from '../lifecycle/resync.ts';
import { isFlaggedForExtra, type RefundWithWork } from '../model/refund.ts';
import { contradictionOf, type Evidence, gatherEvidence, type ResolvedStatus } from './evidence.ts';
import { readGivenReason } from './given-reason.ts';
import { nameProblem } from './named-problem.ts';
import { keptEvent } from './person-decisions.ts';
import { canBeKept, canBeResolved } from './possible-resolutions.ts';

/** How a person wants a flagged refund to end. */
export interface Resolution {
  status: ResolvedStatus;
  /** Why, for the timeline and the audit log. */
  reason: string;
  /** The processor's id of a refund that completed; null for the one on record. */
  externalRefundId: string | null;
  /** Also where the processor contradicts, or cannot be asked. */
  force: boolean;
}

/**
 * What became of a person's decision about a flagged refund. Unless it is `done`, nothing was changed.
 * - `not-flagged`: it goes on by itself, perhaps because somebody else was faster.
 * - `leased`: a worker or another person holds it until then.
 * - `not-allowed`: it cannot become that from the status it has.
 * - `contradicted`: the processor says otherwise or cannot be asked; `forceable` tells whether a person may insist.
 * - `changed`: it changed while the processor was asked.
 */
export type ResolutionOutcome =
  | { kind: 'done'; refund: Refund }
  | { kind: 'not-flagged' | 'not-allowed' | 'changed'; refund: Refund }
  | { kind: 'leased'; refund: Refund; until: Date }
  | { kind: 'contradicted'; refund: Refund; evidence: string; forceable: boolean };

/**
 * Ends a flagged refund by a person's decision. The processor is asked first, under a lease of its own, so that whatever
 * a worker has learnt meanwhile is refused; a completed refund fails on evidence alone. One that failed or was cancelled
 * gives its amount back, except for what the processor says has moved all the same.
 * @throws ServiceError validation_error for a reason that cannot be printed, or a processor's id that is missing, not
 * called for, or another refund's.
 */
export async function resolveRefund(
  deps: RefundDependencies,
  loaded: RefundWithWork,
  actor: string,
  resolution: Resolution,
): Promise<ResolutionOutcome> {
  const asked = checkResolution(loaded, resolution);
  const { status, force } = asked;
  if (loaded.work?.flaggedAt == null) return { kind: 'not-flagged', refund: loaded };
  if (!canBeResolved(loaded, status)) return { kind: 'not-allowed', refund: loaded };
  const claim = await takeFlagged(deps, loaded);
  if (claim.kind !== 'taken') return claim;
  const { claimed } = claim;
  const { refund } = claimed;
  try {
    const evidence = await gatherEvidence(deps, claimed, asked.externalRefundId);
    const contradiction = contradictionOf(refund, status, evidence);
    const forceable = refund.status === 'processing';
    if (contradiction !== null && !(force && forceable)) {
      return { kind: 'contradicted', refund, evidence: contradiction, forceable };
    }
    const resolved = await deps.db.$transaction((tx) =>
      record(tx, deps, claimed, { ...asked, actor, evidence, contradiction }),
    );
    return resolved === null ? await changed(deps, refund) : { kind: 'done', refund: resolved };
  } finally {
    // Once resolved it has no lease; in every other case workers go on with it.
    await releaseFlagged(deps, claimed);
  }
}

/**
 * Lets a contradiction of a refund that has ended stand, or another refund under the name of one, whatever its status: the
 * flag goes, and the same problem is not told again. What moved without a reservation counts as refunded outside, once the
 * payment is read again.
 * @throws ServiceError validation_error for a reason that cannot be printed.
 */
export async function keepRefund(
  deps: RefundDependencies,
  loaded: RefundWithWork,
  actor: string,
  reason: string,
): Promise<ResolutionOutcome> {
  const words = readGivenReason(reason);
  if (loaded.work?.flaggedAt == null) return { kind: 'not-flagged', refund: loaded };
  if (!canBeKept(loaded)) return { kind: 'not-allowed', refund: loaded };
  const claim = await takeFlagged(deps, loaded);
  if (claim.kind !== 'taken') return claim;
  const { claimed } = claim;
  try {
    const kept = await deps.db.$transaction((tx) => keep(tx, deps, claimed, { actor, words }));
    return kept ? { kind: 'done', refund: claimed.refund } : await changed(deps, claimed.refund);
  } finally {
    // Once it is kept it has no lease; in every other case workers go on with it.
    await releaseFlagged(deps, claimed);
  }
}

async function keep(
  tx: DatabaseTransaction,
  deps: RefundDependencies,
  { refund, work }: FlaggedClaim,
  { actor, words }: { actor: string; words: string },
): Promise<boolean> {
  await lockPayment(tx, refund);
  if (!(await endFlag(tx, work))) return false;
  const detail = { reason: words, ...problemOf(work), ...(await nameProblem(tx, work)) };
  await noteOnRefund(tx, refund, { type: keptEvent, actor, detail });
  await markPaymentsStale(tx, refund, [refund.transactionId]);
  // What is wrong with the refund itself had to wait for this flag. One that is not known there has nothing to be read.
  if (isFlaggedForExtra(work) && refund.externalRefundId !== null) await requestResync(tx, refund);
  await audit(tx, deps, refund, { actor, action: 'refund.kept', detail });
  return true;
}

/** Ends the flag that is under our lease, and the work with it where nothing else is left to do. */
async function endFlag(tx: DatabaseTransaction, { refundId, leaseToken }: RefundWork): Promise<boolean> {
  const { count } = await tx.refundWork.updateMany({
    where: { refundId, leaseToken, dueAt: { not: null } },
    data: { flaggedAt: null, flagReason: null, extraRefundId: null, leasedUntil: null, enqueuedAt: null },
  });
  if (count > 0) return true;
  return (await tx.refundWork.deleteMany({ where: { refundId, leaseToken, dueAt: null } })).count > 0;
}

function checkResolution(refund: Refund, asked: Resolution): Resolution {
  const { status, externalRefundId } = asked;
  const reason = readGivenReason(asked.reason);
  if (externalRefundId !== null && !/^[\x21-\x7e]{1,255}$/.test(externalRefundId)) {
    throw new ServiceError('validation_error', "processor refund: has to be the processor's own id.");
  }
  if (status !== 'completed' && externalRefundId !== null) {
    throw new ServiceError('validation_error', 'processor refund: only a completed refund has one to name.');
  }
  if (status === 'completed' && externalRefundId === null && refund.externalRefundId === null) {
    throw new ServiceError('validation_error', 'processor refund: has to name the refund that completed.');
  }
  return { ...asked, reason };
}

/** Takes the lease, or says why that cannot be. */
async function takeFlagged(
  deps: RefundDependencies,
  loaded: RefundWithWork,
): Promise<{ kind: 'taken'; claimed: FlaggedClaim } | ResolutionOutcome> {
  const claimed = await claimFlagged(deps, loaded, { flagReason: loaded.work?.flagReason ?? null });
  return claimed === null ? await changed(deps, loaded) : { kind: 'taken', claimed };
}

/** Why a refund is not what the caller believed it to be. */
async function changed(deps: RefundDependencies, { id }: Pick<Refund, 'id'>): Promise<ResolutionOutcome> {
  const { work, ...refund } = await deps.db.refund.findUniqueOrThrow({
    where: { id },
    include: { work: true },
  });
  const until = work?.leasedUntil ?? null;
  if (until !== null && until > (await serviceTime(deps.db))) return { kind: 'leased', refund, until };
  return { kind: work?.flaggedAt == null ? 'not-flagged' : 'changed', refund };
}

/** What a decision is about, for the timeline; reconciliation reads there which other refunds were dealt with. */
function problemOf({ flagReason, extraRefundId }: RefundWork): Prisma.InputJsonObject {
  return { problem: flagReason, ...(extraRefundId === null ? {} : { extraRefundId }) };
}

interface Decision extends Resolution {
  actor: string;
  evidence: Evidence;
  /** What the decision goes against; null when the evidence allows it. */
  contradiction: string | null;
}

async function record(
  tx: DatabaseTransaction,
  deps: RefundDependencies,
  { refund, work }: FlaggedClaim,
  decision: Decision,
): Promise<Refund | null> {
  const { status, reason, actor, evidence, contradiction } = decision;
  const detail = {
    reason,
    ...problemOf(work),
    forced: contradiction !== null,
    ...(contradiction === null ? {} : { against: contradiction }),
  };
  await lockPayment(tx, refund);
  if (status === 'completed') await refuseTaken(tx, refund, decision);
  const [ended] = await tx.$queryRaw<{ hasNews: boolean }[]>`
    DELETE FROM refund_work WHERE refund_id = ${work.refundId} AND lease_token = ${work.leaseToken}
    RETURNING resync_requested_at IS NOT NULL AS "hasNews"`;
  if (ended === undefined) return null;
  const moved = await moveRefund(tx, {
    refund,
    from: refund.status,
    to: status,
    change: changeOf(decision),
    entry: { type: `refund.${status}`, actor, detail },
  });
  if (moved === null) throw new Error(`Refund ${refund.id} moved under the lease of its resolution`);
  // What was decided against the evidence, without any, or before the latest news, is held against the processor again.
  if (contradiction !== null || ended.hasNews) await requestResync(tx, refund);
  await countRefundedOutside(tx, refund, movedAnyway(status, evidence));
  await markPaymentsStale(tx, refund, [refund.transactionId]);
  await audit(tx, deps, refund, { actor, action: 'refund.resolved', detail: { ...detail, as: status } });
  return moved;
}

/** One refund at the processor stands for one refund here; behind the payment's lock nobody claims it meanwhile. */
async function refuseTaken(
  tx: DatabaseTransaction,
  refund: Refund,
  { externalRefundId }: Decision,
): Promise<void> {
  if (externalRefundId === null || externalRefundId === refund.externalRefundId) return;
  const { organizationId, environment, processor } = refund;
  const other = await tx.refund.findFirst({
    where: { organizationId, environment, processor, externalRefundId, id: { not: refund.id } },
  });
  if (other === null) return;
  throw new ServiceError('validation_error', `processor refund: ${externalRefundId} is ${other.id} already.`);
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
  { clock }: Pick<RefundDependencies, 'clock'>,
  { id, organizationId }: Refund,
  entry: { actor: string; action: AuditAction; detail: Prisma.InputJsonObject },
): Promise<void> {
  await writeAudit(tx, { organizationId, target: id, ...entry }, clock.now());
}
