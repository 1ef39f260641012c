import { formatAmount } from '../../money/money.ts';
import { type Refund, serviceTime } from '../../platform/database.ts';
import { isUnusableCredentials, loadAccount } from '../../processors/accounts/connections.ts';
import {
  isLive,
  type Processor,
  type ProcessorFailure,
  type ProcessorRefund,
} from '../../processors/contract/processor.ts';
import type { RefundDependencies } from '../lifecycle/dependencies.ts';
import type { FlaggedClaim } from '../lifecycle/lease.ts';
import { lookupConclusiveAt } from '../model/lookup-proof.ts';
import { referenceTo } from '../model/refund.ts';

/**
 * What is known about a refund at its processor, for somebody who is about to decide.
 * - `found`: the processor has it, like this.
 * - `absent`: surely not there.
 * - `unclear`: it could not be asked, or its answer proves nothing yet.
 */
export type Evidence =
  | { kind: 'found'; refund: ProcessorRefund }
  | { kind: 'absent'; message: string }
  | { kind: 'unclear'; message: string };

/** Statuses that a person can give a refund. */
export type ResolvedStatus = 'completed' | 'failed' | 'cancelled';

/**
 * Asks the processor, and the record where that is proof enough. The caller holds the refund's lease, so that nothing is
 * sent meanwhile.
 * @param named the processor's id that the caller claims for the refund; null for what is on record.
 */
export async function gatherEvidence(
  deps: RefundDependencies,
  claim: FlaggedClaim,
  named: string | null,
): Promise<Evidence> {
  const { refund } = claim;
  const { externalRefundId } = refund;
  if (named === null && isSurelyUnsent(claim)) {
    return { kind: 'absent', message: 'No attempt to send it is open: it is not at the processor.' };
  }
  try {
    const processor = await deps.connections.connect(await loadAccount(deps.db, refund));
    if (named !== null && named !== externalRefundId) return await askForNamed(deps, processor, claim, named);
    if (externalRefundId === null) return await askForOurs(deps, processor, claim);
    return await askForRecorded(deps, processor, claim, externalRefundId);
  } catch (error) {
    if (!isUnusableCredentials(error)) throw error;
    return { kind: 'unclear', message: `The processor cannot be asked: ${error.message}` };
  }
}

/**
 * A refund that was made past this service is believed only of the same payment, and only while no attempt of ours may
 * have moved the same money a second time.
 */
async function askForNamed(
  deps: RefundDependencies,
  processor: Processor,
  claim: FlaggedClaim,
  named: string,
): Promise<Evidence> {
  const { refund } = claim;
  const answer = await processor.getTransaction(refund.transactionId, optionsOf(deps));
  if (answer.kind !== 'found') return unclear(answer);
  const { refunds } = answer.value;
  const theirs = refunds.find(({ id }) => id === named);
  if (theirs === undefined) {
    return { kind: 'absent', message: `The payment ${refund.transactionId} has no refund ${named}.` };
  }
  const ours = refunds.filter(({ id, refundId }) => refundId === refund.id || id === refund.externalRefundId);
  const another = ours.find((each) => each.id !== named && isLive(each));
  if (another !== undefined) {
    return { kind: 'unclear', message: `The processor has ${another.id} for it, besides ${named}.` };
  }
  if (theirs.refundId === refund.id || isSurelyUnsent(claim)) return { kind: 'found', refund: theirs };
  return (await inconclusive(deps, claim)) ?? { kind: 'found', refund: theirs };
}

async function askForRecorded(
  deps: RefundDependencies,
  processor: Processor,
  claim: FlaggedClaim,
  externalRefundId: string,
): Promise<Evidence> {
  const { refund } = claim;
  const answer = await processor.getRefund(externalRefundId, referenceTo(refund), optionsOf(deps));
  if (answer.kind === 'found') return { kind: 'found', refund: answer.value };
  // That it no longer knows the id could be about another account; a payment without such a refund could not.
  return answer.kind === 'not-found' ? await askForOurs(deps, processor, claim) : unclear(answer);
}

async function askForOurs(
  deps: RefundDependencies,
  processor: Processor,
  claim: FlaggedClaim,
): Promise<Evidence> {
  const answer = await processor.findRefund(referenceTo(claim.refund), optionsOf(deps));
  if (answer.kind === 'found') return { kind: 'found', refund: answer.value };
  if (answer.kind !== 'not-found') return unclear(answer);
  const absent: Evidence = {
    kind: 'absent',
    message: `The processor has no such refund: ${answer.failure.message}`,
  };
  return (await inconclusive(deps, claim)) ?? absent;
}

/** Says that it is too early to conclude anything from what the processor does not show; null when it is not. */
async function inconclusive(
  deps: RefundDependencies,
  { refund, work, attempt }: FlaggedClaim,
): Promise<Evidence | null> {
  const conclusiveAt = lookupConclusiveAt(deps.settings, refund, work, attempt);
  if (conclusiveAt <= (await serviceTime(deps.db))) return null;
  const message = `The processor does not show it, which proves nothing before ${conclusiveAt.toISOString()}.`;
  return { kind: 'unclear', message };
}

/** True when no attempt of it was accepted or has an unknown outcome, and nothing says that there is news of it. */
function isSurelyUnsent({ refund, work }: Pick<FlaggedClaim, 'refund' | 'work'>): boolean {
  return refund.externalRefundId === null && work.unknownSince === null && work.resyncRequestedAt === null;
}

function unclear({ failure }: { failure: ProcessorFailure }): Evidence {
  return { kind: 'unclear', message: `The processor could not say: ${failure.message}` };
}

/** Why the evidence speaks against a status, in a sentence; null when it does not. */
export function contradictionOf(
  refund: Pick<Refund, 'id' | 'amount' | 'currency'>,
  status: ResolvedStatus,
  evidence: Evidence,
): string | null {
  if (evidence.kind === 'unclear') return evidence.message;
  if (evidence.kind === 'absent') return status === 'completed' ? evidence.message : null;
  const { id, state, amount, currency, processorStatus, refundId } = evidence.refund;
  const theirs = `The processor has ${id} as ${processorStatus}, ${formatAmount(amount, currency)}`;
  if (status !== 'completed') return isLive(evidence.refund) ? `${theirs}.` : null;
  if (refundId?.startsWith('ref_') && refundId !== refund.id) return `${theirs}, of ${refundId}.`;
  const agrees = state === 'completed' && amount === refund.amount && currency === refund.currency;
  return agrees ? null : `${theirs}; asked were ${formatAmount(refund.amount, refund.currency)}.`;
}

function optionsOf({ settings }: RefundDependencies) {
  return { timeoutMs: Math.floor(settings.PROCESSOR_TIMEOUT_MS / 2) };
}
