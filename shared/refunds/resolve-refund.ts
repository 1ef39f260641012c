import { type AuditAction, writeAudit } from '../audit-log.ts';
import type { DatabaseTransaction, Prisma, Refund } from '../db.ts';
import type { Dependencies } from '../dependencies.ts';
import { ServiceError } from '../errors.ts';
import { isLive } from '../processors/processor.ts';
import { nameProblem } from '../reconciliation/named-problem.ts';
import { forgetTransactions } from '../transactions/forget-transactions.ts';
import { countRefundedOutside, lockTransaction } from '../transactions/reservation.ts';
import { contradictionOf, type Evidence, gatherEvidence, type ResolvedStatus } from './evidence.ts';
import { isFlaggedForExtra } from './flag.ts';
import { readGivenReason } from './given-reason.ts';
import { claimFlagged, leasedUntil, releaseFlagged } from './lease.ts';
import { keptEvent } from './person-decisions.ts';
import { canBeKept, canBeResolved } from './possible-resolutions.ts';
import { requestReview } from './request-review.ts';
import { annotate, type RefundChanges, transition } from './transition.ts';

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
  deps: Dependencies,
  loaded: Refund,
  actor: string,
  resolution: Resolution,
): Promise<ResolutionOutcome> {
  const asked = checkResolution(loaded, resolution);
  const { status, force } = asked;
  if (loaded.flaggedAt === null) return { kind: 'not-flagged', refund: loaded };
  if (!canBeResolved(loaded, status)) return { kind: 'not-allowed', refund: loaded };
  const claim = await takeFlagged(deps, loaded);
  if (claim.kind !== 'taken') return claim;
  const { refund } = claim;
  try {
    const evidence = await gatherEvidence(deps, refund, asked.externalRefundId);
    const contradiction = contradictionOf(refund, status, evidence);
    const forceable = refund.status === 'processing';
    if (contradiction !== null && !(force && forceable)) {
      return { kind: 'contradicted', refund, evidence: contradiction, forceable };
    }
    const resolved = await deps.db.$transaction((tx) =>
      record(tx, deps, refund, { ...asked, actor, evidence, contradiction }),
    );
    return resolved === null ? await changed(deps, refund) : { kind: 'done', refund: resolved };
  } finally {
    // Once resolved it has no lease; in every other case workers go on with it.
    await releaseFlagged(deps, refund);
  }
}

/**
 * Lets a contradiction of a refund that has ended stand, or another refund under the name of one, whatever its status: the
 * flag goes, and the same problem is not told again. What moved without a reservation counts as refunded outside, once the
 * payment is read again.
 * @throws ServiceError validation_error for a reason that cannot be printed.
 */
export async function keepRefund(
  deps: Dependencies,
  loaded: Refund,
  actor: string,
  reason: string,
): Promise<ResolutionOutcome> {
  const words = readGivenReason(reason);
  if (loaded.flaggedAt === null) return { kind: 'not-flagged', refund: loaded };
  if (!canBeKept(loaded)) return { kind: 'not-allowed', refund: loaded };
  const claim = await takeFlagged(deps, loaded);
  if (claim.kind !== 'taken') return claim;
  const { refund } = claim;
  try {
    const kept = await deps.db.$transaction((tx) => keep(tx, deps, refund, { actor, words }));
    return kept === null ? await changed(deps, refund) : { kind: 'done', refund: kept };
  } finally {
    // Once it is kept it has no lease; in every other case workers go on with it.
    await releaseFlagged(deps, refund);
  }
}

async function keep(
  tx: DatabaseTransaction,
  deps: Dependencies,
  refund: Refund,
  { actor, words }: { actor: string; words: string },
): Promise<Refund | null> {
  await lockTransaction(tx, refund);
  const detail = { reason: words, ...problemOf(refund), ...(await nameProblem(tx, refund)) };
  const noted = await annotate(tx, deps.clock, {
    refund,
    guard: { fencingToken: refund.fencingToken, flagReason: refund.flagReason },
    changes: { flaggedAt: null, flagReason: null, extraRefundId: null, claimedUntil: null },
    entry: { type: keptEvent, actor, detail },
  });
  if (noted === null) return null;
  await forgetTransactions(tx, deps.clock, refund, [refund.transactionId]);
  // What is wrong with the refund itself had to wait for this flag. One that is not known there has nothing to be read.
  if (isFlaggedForExtra(refund) && refund.externalRefundId !== null) await requestReview(tx, deps, refund);
  await audit(tx, deps, refund, { actor, action: 'refund.kept', detail });
  return noted;
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
  deps: Dependencies,
  loaded: Refund,
): Promise<{ kind: 'taken'; refund: Refund } | ResolutionOutcome> {
  const refund = await claimFlagged(deps, loaded);
  return refund === null ? await changed(deps, loaded) : { kind: 'taken', refund };
}

/** Why a refund is not what the caller believed it to be. */
async function changed(deps: Dependencies, { id }: Refund): Promise<ResolutionOutcome> {
  const refund = await deps.db.refund.findUniqueOrThrow({ where: { id } });
  const until = await leasedUntil(deps, refund);
  if (until !== null) return { kind: 'leased', refund, until };
  return { kind: refund.flaggedAt === null ? 'not-flagged' : 'changed', refund };
}

/** What a decision is about, for the timeline; reconciliation reads there which other refunds were dealt with. */
function problemOf({ flagReason, extraRefundId }: Refund): Prisma.InputJsonObject {
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
  deps: Dependencies,
  refund: Refund,
  decision: Decision,
): Promise<Refund | null> {
  const { status, reason, actor, evidence, contradiction } = decision;
  const detail = {
    reason,
    ...problemOf(refund),
    forced: contradiction !== null,
    ...(contradiction === null ? {} : { against: contradiction }),
  };
  await lockTransaction(tx, refund);
  if (status === 'completed') await refuseTaken(tx, refund, decision);
  const moved = await transition(tx, deps.clock, {
    refund,
    from: refund.status,
    to: status,
    guard: { fencingToken: refund.fencingToken, flagReason: refund.flagReason, flaggedAt: { not: null } },
    changes: changesOf(deps, refund, decision),
    entry: { type: `refund.${status}`, actor, detail },
  });
  if (moved === null) return null;
  await countRefundedOutside(tx, refund, movedAnyway(status, evidence));
  await forgetTransactions(tx, deps.clock, refund, [refund.transactionId]);
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

function changesOf(deps: Dependencies, refund: Refund, decision: Decision): RefundChanges {
  const { status, reason, externalRefundId, evidence, contradiction } = decision;
  const found = evidence.kind === 'found' ? evidence.refund : null;
  const common: RefundChanges = {
    unknownSince: null,
    attemptAnswered: false,
    retryingSince: null,
    cancelRequestedAt: null,
    extraRefundId: null,
    // What was decided against the evidence, or without any, is held against the processor again.
    ...(contradiction === null ? {} : { reviewDueAt: deps.clock.now() }),
    ...(found === null ? {} : { processorStatus: found.processorStatus }),
  };
  switch (status) {
    case 'completed':
      return {
        ...common,
        externalRefundId: externalRefundId ?? refund.externalRefundId,
        acceptedAt: refund.acceptedAt ?? deps.clock.now(),
        lastOutcome: 'accepted',
      };
    case 'failed':
      return {
        ...common,
        failureCode: found?.failure?.code ?? 'resolved_by_person',
        failureMessage: found?.failure?.message ?? reason,
      };
    case 'cancelled':
      return common;
  }
}

/** Minor units that have left the payment although the refund gives its reservation back. */
function movedAnyway(status: ResolvedStatus, evidence: Evidence): bigint {
  if (status === 'completed' || evidence.kind !== 'found') return 0n;
  return isLive(evidence.refund) ? evidence.refund.amount : 0n;
}

async function audit(
  tx: DatabaseTransaction,
  { clock }: Pick<Dependencies, 'clock'>,
  { id, organizationId }: Refund,
  entry: { actor: string; action: AuditAction; detail: Prisma.InputJsonObject },
): Promise<void> {
  await writeAudit(tx, { organizationId, target: id, ...entry }, clock.now());
}
