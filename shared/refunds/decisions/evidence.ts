import { formatAmount } from '../../money/money.ts';
import type { ServiceSettings } from '../../platform/config.ts';
import { type Database, type Refund, serviceTime } from '../../platform/database.ts';
import { loadAccount } from '../../processors/accounts/account.ts';
import { isUnusableCredentials, type ProcessorConnections } from '../../processors/accounts/connections.ts';
import {
  isLive,
  type Processor,
  type ProcessorFailure,
  type ProcessorRefund,
} from '../../processors/contract/processor.ts';
import type { FlaggedClaim } from '../changes/work.ts';
import { lookupConclusiveAt } from '../model/attempts.ts';
import { referenceTo } from '../model/refund.ts';

/**
 * What is known about a refund at its processor.
 * - `found`: the processor has it.
 * - `absent`: it is proven that the processor does not have it.
 * - `unclear`: the processor could not be read, or its answer proves nothing yet.
 */
export type Evidence =
  | { kind: 'found'; refund: ProcessorRefund }
  | { kind: 'absent'; message: string }
  | { kind: 'unclear'; message: string };

/** Statuses that a person can give a flagged refund. */
export const resolvedStatuses = ['completed', 'failed', 'cancelled'] as const;

export type ResolvedStatus = (typeof resolvedStatuses)[number];

/** What reads a refund at its processor for a decision needs. */
export interface EvidenceDependencies {
  db: Database;
  settings: ServiceSettings;
  connections: ProcessorConnections;
}

/**
 * Reads the refund from the processor, unless the record is proof enough. The caller has the refund's lease, so that
 * nothing is sent meanwhile.
 * @param named the processor's id that the caller claims for the refund; null for the one on record.
 */
export async function gatherEvidence(
  deps: EvidenceDependencies,
  claim: FlaggedClaim,
  named: string | null,
): Promise<Evidence> {
  const { refund } = claim;
  const { externalRefundId } = refund;
  if (named === null && claim.isNotSent) {
    return { kind: 'absent', message: 'It was never sent to the processor.' };
  }
  try {
    const processor = await deps.connections.connect(await loadAccount(deps.db, refund));
    if (named !== null && named !== externalRefundId) return await readNamed(deps, processor, claim, named);
    if (externalRefundId === null) return await lookUp(deps, processor, claim);
    return await readRecorded(deps, processor, claim, externalRefundId);
  } catch (error) {
    if (!isUnusableCredentials(error)) throw error;
    return { kind: 'unclear', message: `The processor account cannot be used: ${error.message}` };
  }
}

/**
 * A refund that was made outside of this service counts only if it is of the same payment, and while no attempt of ours
 * may have moved the same money a second time.
 */
async function readNamed(
  deps: EvidenceDependencies,
  processor: Processor,
  claim: FlaggedClaim,
  named: string,
): Promise<Evidence> {
  const { refund, externalPaymentId, isNotSent } = claim;
  const answer = await processor.getPayment(externalPaymentId ?? refund.transactionId, optionsOf(deps));
  if (answer.kind !== 'found') return unclear(answer);
  const { refunds } = answer.value;
  const theirs = refunds.find(({ id }) => id === named);
  if (theirs === undefined) {
    return { kind: 'absent', message: `The payment ${refund.transactionId} has no refund ${named}.` };
  }
  const ours = refunds.filter(({ id, refundId }) => refundId === refund.id || id === refund.externalRefundId);
  const another = ours.find((each) => each.id !== named && isLive(each));
  if (another !== undefined) {
    return {
      kind: 'unclear',
      message: `The processor has a second refund, ${another.id}, besides ${named}.`,
    };
  }
  if (theirs.refundId === refund.id || isNotSent) return { kind: 'found', refund: theirs };
  return (await inconclusive(deps, claim)) ?? { kind: 'found', refund: theirs };
}

async function readRecorded(
  deps: EvidenceDependencies,
  processor: Processor,
  claim: FlaggedClaim,
  externalRefundId: string,
): Promise<Evidence> {
  const reference = referenceTo(claim.refund, claim.externalPaymentId);
  const answer = await processor.getRefund(externalRefundId, reference, optionsOf(deps));
  if (answer.kind === 'found') return { kind: 'found', refund: answer.value };
  // An unknown id may mean another account; a known payment without such a refund is proof.
  return answer.kind === 'not-found' ? await lookUp(deps, processor, claim) : unclear(answer);
}

async function lookUp(
  deps: EvidenceDependencies,
  processor: Processor,
  claim: FlaggedClaim,
): Promise<Evidence> {
  const reference = referenceTo(claim.refund, claim.externalPaymentId);
  const answer = await processor.findRefund(reference, optionsOf(deps));
  if (answer.kind === 'found') return { kind: 'found', refund: answer.value };
  if (answer.kind !== 'not-found') return unclear(answer);
  const absent: Evidence = {
    kind: 'absent',
    message: `The processor does not have this refund: ${answer.failure.message}`,
  };
  return (await inconclusive(deps, claim)) ?? absent;
}

/** The answer while it is too early to conclude anything from a lookup that finds nothing; null after that. */
async function inconclusive(
  deps: EvidenceDependencies,
  { refund, work }: FlaggedClaim,
): Promise<Evidence | null> {
  if (work.approvalRequestedAt !== null) {
    const message = 'The refund awaits approval at the processor, which sends it once it is approved there.';
    return { kind: 'unclear', message };
  }
  const conclusiveAt = lookupConclusiveAt(deps.settings, refund, work);
  if (conclusiveAt <= (await serviceTime(deps.db))) return null;
  const message = `The processor does not show the refund yet. A lookup is conclusive from ${conclusiveAt.toISOString()}.`;
  return { kind: 'unclear', message };
}

function unclear({ failure }: { failure: ProcessorFailure }): Evidence {
  return { kind: 'unclear', message: `The processor could not be read: ${failure.message}` };
}

/** Why the evidence rules a status out, in a sentence; null when it allows it. */
export function contradictionOf(
  refund: Pick<Refund, 'id' | 'amount' | 'currency'>,
  status: ResolvedStatus,
  evidence: Evidence,
): string | null {
  if (evidence.kind === 'unclear') return evidence.message;
  if (evidence.kind === 'absent') return status === 'completed' ? evidence.message : null;
  const { id, state, amount, currency, processorStatus, refundId } = evidence.refund;
  const theirs = `The processor shows ${id} as ${processorStatus}, ${formatAmount(amount, currency)}`;
  if (status !== 'completed') return isLive(evidence.refund) ? `${theirs}.` : null;
  if (refundId?.startsWith('ref_') && refundId !== refund.id) return `${theirs}, for ${refundId}.`;
  const agrees = state === 'completed' && amount === refund.amount && currency === refund.currency;
  return agrees ? null : `${theirs}; ${formatAmount(refund.amount, refund.currency)} was requested.`;
}

function optionsOf({ settings }: EvidenceDependencies) {
  return { timeoutMs: Math.floor(settings.PROCESSOR_TIMEOUT_MS / 2) };
}
