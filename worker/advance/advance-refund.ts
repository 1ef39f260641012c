import type { Dependencies } from '../../shared/dependencies.ts';
import { lockPaymentOf, markPaymentStale } from '../../shared/payments/payment.ts';
import { isDatabaseUnavailable, type Refund } from '../../shared/platform/database.ts';
import { isUnusableCredentials } from '../../shared/processors/accounts/connections.ts';
import type { Processor } from '../../shared/processors/contract/processor.ts';
import { type Claim, claimRefund } from '../../shared/refunds/lifecycle/claim.ts';
import { recordOutcome, type StepOutcome } from '../../shared/refunds/lifecycle/record.ts';
import { accountUnusable, cancelledUnsent } from './outcomes.ts';
import { reviewRefund } from './review.ts';
import {
  cancelAtProcessor,
  checkSettlement,
  lookUpRefund,
  type StepContext,
  sendRefund,
  verifyPayment,
} from './steps.ts';
import { stepFailed } from './unanswered.ts';

/** Steps that one job takes at most; the sweep enqueues what is still due. */
const maxSteps = 8;

/**
 * Takes the steps of a refund that are due: claim, call the processor, record what follows. The job knows only the id and
 * everything is decided from the database, so a duplicate, late or concurrent job is harmless.
 * @throws when the database is unavailable; the sweep makes a new job.
 */
export async function advanceRefund(deps: Dependencies, refundId: string): Promise<void> {
  for (let step = 0; step < maxSteps; step += 1) {
    const since = performance.now();
    const claim = await claimRefund(deps, refundId);
    if (claim === null || !(await advance(deps, claim, since))) return;
  }
}

/**
 * Takes one step. A step that fails through a bug, or through an answer that cannot be stored, is recorded as unanswered:
 * it counts as a failure, is retried more slowly and is flagged in time.
 * @returns true when the next step is due at once.
 */
async function advance(deps: Dependencies, claim: Claim, since: number): Promise<boolean> {
  try {
    const outcome = await takeStep(deps, claim, since);
    return outcome !== null && (await record(deps, claim, outcome));
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error;
    deps.log.error({ err: error, refundId: claim.refund.id, step: claim.step }, 'a step failed');
    return await record(deps, claim, stepFailed({ claim, settings: deps.settings, random: deps.random }));
  }
}

/** @returns true when the next step is due at once. */
async function record(deps: Dependencies, claim: Claim, outcome: StepOutcome): Promise<boolean> {
  const { refund } = claim;
  // First, so that the payment is read again even if this process dies before the outcome is recorded.
  if (outcome.isPaymentStale) await markStale(deps, refund);
  const result = await recordOutcome(deps, claim, outcome);
  return result === 'resync' || result === 'due';
}

async function markStale({ db }: Dependencies, refund: Refund): Promise<void> {
  await db.$transaction(async (tx) => {
    await markPaymentStale(tx, await lockPaymentOf(tx, refund));
  });
}

/** @returns what follows; null when the lease was lost and there is nothing to record. */
async function takeStep(deps: Dependencies, claim: Claim, since: number): Promise<StepOutcome | null> {
  const context = { claim, settings: deps.settings, random: deps.random };
  if (claim.step === 'cancel') return cancelledUnsent();
  let processor: Processor;
  try {
    processor = await deps.connections.connect(claim.account);
  } catch (error) {
    if (!isUnusableCredentials(error)) throw error;
    return accountUnusable(context, error.message);
  }
  return await callProcessor({ ...context, deps, processor }, claim.step, since);
}

function callProcessor(
  context: StepContext,
  step: Exclude<Claim['step'], 'cancel'>,
  since: number,
): Promise<StepOutcome | null> {
  switch (step) {
    case 'verify':
      return verifyPayment(context);
    case 'send':
      return sendRefund(context, since);
    case 'look_up':
      return lookUpRefund(context);
    case 'settle':
      return checkSettlement(context);
    case 'cancel_at_processor':
      return cancelAtProcessor(context);
    case 'review':
      return reviewRefund(context);
  }
}
