import type { Dependencies } from '../../shared/dependencies.ts';
import { isDatabaseUnavailable } from '../../shared/platform/database.ts';
import { isUnusableCredentials } from '../../shared/processors/accounts/connections.ts';
import type { Processor } from '../../shared/processors/contract/processor.ts';
import { type Claim, claimRefund } from '../../shared/refunds/lifecycle/claim.ts';
import { cancelAtProcessor } from './cancel.ts';
import { lookUpRefund } from './look-up.ts';
import { cancelledUnsent, misconfigured, stepFailed } from './outcomes.ts';
import { reviewRefund } from './review.ts';
import { credentialsRefused, sendRefund } from './send.ts';
import { checkSettlement } from './settle.ts';
import { record, type StepContext, type StepResult } from './step.ts';
import { verifyPayment } from './verify.ts';

/** Steps that one job takes at most; what is still due then is found by the sweep. */
const maxSteps = 8;

/**
 * Looks at a refund and does the next right thing, and again while there is something due. The job knows only the id:
 * everything is decided from the database, so a job that comes twice, late or at the same time as another is harmless.
 * @throws when the database cannot be worked with; the sweep makes a new job.
 */
export async function advanceRefund(deps: Dependencies, refundId: string): Promise<void> {
  for (let step = 0; step < maxSteps; step += 1) {
    const since = performance.now();
    const claim = await claimRefund(deps, refundId);
    if (claim === null || (await takeOrNoteStep(deps, claim, since)) === 'rest') return;
  }
}

/**
 * Notes a step that failed by a fault of ours or by an answer that cannot be put on record as one without an answer, so that
 * it is counted, tried again more slowly, and flagged in time.
 */
async function takeOrNoteStep(deps: Dependencies, claim: Claim, since: number): Promise<StepResult> {
  try {
    return await takeStep(deps, claim, since);
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error;
    deps.log.error({ err: error, refundId: claim.refund.id, step: claim.step }, 'a step failed');
    const context = { deps, claim, settings: deps.settings, random: deps.random };
    return await record(context, stepFailed(context));
  }
}

async function takeStep(deps: Dependencies, claim: Claim, since: number): Promise<StepResult> {
  const context = { deps, claim, settings: deps.settings, random: deps.random };
  if (claim.step === 'cancel') return await record(context, cancelledUnsent());
  let processor: Processor;
  try {
    processor = await deps.connections.connect(claim.account);
  } catch (error) {
    if (!isUnusableCredentials(error)) throw error;
    return await recordUnusable(context, error.message);
  }
  return await takeStepAt({ ...context, processor }, since);
}

function takeStepAt(context: StepContext, since: number): Promise<StepResult> {
  switch (context.claim.step) {
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
    case 'cancel':
      throw new TypeError('A refund that was not sent is cancelled without its processor');
  }
}

/** The stored credentials cannot be used: nothing was called. */
async function recordUnusable(context: Omit<StepContext, 'processor'>, message: string): Promise<StepResult> {
  const failure = { code: 'credentials_unusable', message };
  const { claim, settings } = context;
  if (claim.step === 'review') {
    return await record(context, { moves: [], dueInMs: settings.MISCONFIGURED_RETRY_MS });
  }
  if (claim.step === 'send') return await record(context, credentialsRefused(context, failure));
  return await record(context, misconfigured(context, 'attempt.misconfigured', failure));
}
