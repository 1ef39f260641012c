import { clearMisconfigured, markMisconfigured } from '../../shared/accounts/account-trouble.ts';
import { isUnusableCredentials, loadAccount } from '../../shared/accounts/connect.ts';
import { watchCredentials } from '../../shared/accounts/watch-credentials.ts';
import type { ProcessorAccount, Refund } from '../../shared/db.ts';
import type { Dependencies } from '../../shared/dependencies.ts';
import type { Processor } from '../../shared/processors/processor.ts';
import { claimRefund, postpone } from '../../shared/refunds/lease.ts';
import { nextStep, type RefundStep } from '../../shared/refunds/next-step.ts';
import { whereTransaction } from '../../shared/transactions/reservation.ts';
import { askCancellation } from '../steps/ask-cancellation.ts';
import { cancelUnsentRefund } from '../steps/cancel-unsent.ts';
import { checkSettlement } from '../steps/check-settlement.ts';
import { findRefund } from '../steps/find-refund.ts';
import { reviewRefund } from '../steps/review-refund.ts';
import { sendRefund } from '../steps/send-refund.ts';
import { inFuture, type StepContext, type StepResult } from '../steps/step.ts';
import { recordMisconfigured } from '../steps/unsent.ts';
import { verifyTransaction } from '../steps/verify-transaction.ts';

/** Steps that one job takes at most; what is still due then is found by the sweep. */
const maxSteps = 8;

/**
 * Looks at a refund and does the next right thing, and again while there is something due. The job knows only the id:
 * everything is decided from the database, so a job that comes twice, late or at the same time as another is harmless.
 * @throws when the database cannot be worked with; the sweep makes a new job.
 */
export async function advanceRefund(deps: Dependencies, refundId: string): Promise<void> {
  for (let step = 0; step < maxSteps; step += 1) {
    const refund = await deps.db.refund.findUnique({ where: { id: refundId } });
    if (refund === null || !isDue(deps, refund)) return;
    if ((await takeStep(deps, refund)) === 'rest') return;
  }
}

function isDue(deps: Dependencies, { nextActionAt, reviewDueAt }: Refund): boolean {
  return isPast(deps, nextActionAt) || isPast(deps, reviewDueAt);
}

function isPast(deps: Dependencies, moment: Date | null): boolean {
  return moment !== null && moment <= deps.clock.now();
}

async function takeStep(deps: Dependencies, refund: Refund): Promise<StepResult> {
  const transaction = await deps.db.transaction.findUniqueOrThrow({ where: whereTransaction(refund) });
  const step = nextStep({
    ...refund,
    transactionVerified: transaction.amount !== null,
    // Also one that was put off: what it doubts is not sent or cancelled before that.
    reviewDue: refund.reviewDueAt !== null,
  });
  if (step === 'nothing') return 'rest';
  if (step === 'cancel') return await cancelUnsentRefund(deps, refund);
  const account = await loadAccount(deps.db, refund);
  if (account.throttledUntil !== null && account.throttledUntil > deps.clock.now()) {
    await postpone(deps, refund, spread(deps, account.throttledUntil));
    return 'rest';
  }
  const processor = await connect(deps, refund, account);
  if (processor === null) return 'rest';
  const watched = watchCredentials(processor);
  const result = await steps[step]({ deps, refund, account, processor: watched.processor });
  // After the outcome, which must not be lost for it.
  if (watched.hasAccepted()) await clearMisconfigured(deps, account);
  return result;
}

const steps: Record<
  Exclude<RefundStep, 'nothing' | 'cancel'>,
  (context: StepContext) => Promise<StepResult>
> = {
  verify: verifyTransaction,
  send: sendRefund,
  find: findRefund,
  check: checkSettlement,
  'ask-cancellation': askCancellation,
  review: reviewRefund,
};

/** Null when the stored credentials cannot be used; the refund then says so, and waits for them to be mended. */
async function connect(
  deps: Dependencies,
  loaded: Refund,
  account: ProcessorAccount,
): Promise<Processor | null> {
  try {
    return deps.connections.connect(account);
  } catch (error) {
    if (!isUnusableCredentials(error)) throw error;
    const failure = { code: 'credentials_unusable', message: error.message };
    if (loaded.status !== 'processing') {
      await markMisconfigured(deps, account, failure);
      await postpone(deps, loaded, inFuture(deps, deps.settings.MISCONFIGURED_RETRY_MS));
      return null;
    }
    const refund = await claimRefund(deps, loaded, 'other');
    if (refund === null) return null;
    await recordMisconfigured({ deps, refund, account }, failure);
    return null;
  }
}

/** Refunds that wait for the same moment come back over half a second. */
function spread(deps: Dependencies, moment: Date): Date {
  return new Date(moment.getTime() + Math.round(deps.random() * 500));
}
