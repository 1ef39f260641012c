import { isDatabaseUnavailable } from '#shared/platform/database.ts';
import { endAtProcessor } from '../../support/processors/end-at-processor.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import type { Mishap } from './combinations.ts';
import { CrashError } from './killable-process.ts';
import { type Actor, isOver, type OpenRefund, type Stage } from './stage.ts';

/** More than any refund needs to end once its processor works. */
const mostRounds = 40;
/** From then on the processor settles refunds although a cancellation is requested. */
const patientRounds = 15;

export interface CarryOnOptions {
  mishap?: Mishap;
  /** Works on the refund at the same time. */
  rival?: Actor | null;
  rounds?: number;
}

/** Works on one refund until it has ended: on a wake-up, or else after the time until the refund is due. */
export async function carryOn(stage: Stage, actor: Actor, options: CarryOnOptions = {}): Promise<void> {
  for (let round = 0; round < (options.rounds ?? mostRounds); round += 1) {
    const refund = await stage.refund();
    if (refund === null || isOver(refund)) return;
    if (stage.wakeUp.isSent) {
      stage.wakeUp.isSent = false;
      if (options.mishap === 'wake-up lost' && stage.lostWakeUps++ < 2) continue;
    } else {
      await settleWhenDue(stage, refund);
      await stage.letTimePass(refund.id);
    }
    await work(actor, refund.id, options.rival ?? null);
  }
}

async function work(actor: Actor, refundId: string, rival: Actor | null): Promise<void> {
  const advance = ({ process, deps }: Actor) =>
    process.run(() => attempt(() => advanceRefund(deps, refundId)));
  if (rival !== null) return await allOf([advance(actor), advance(rival)]);
  await advance(actor);
}

/** A worker gives up when the database fails; the refund is claimed again later. */
async function attempt(advance: () => Promise<void>): Promise<void> {
  try {
    await advance();
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
  }
}

/** Waits for both, also when one was killed. */
async function allOf(works: Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(works);
  const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  const [reason] = reasons.toSorted(
    (a, b) => Number(a instanceof CrashError) - Number(b instanceof CrashError),
  );
  if (reason !== undefined) throw reason;
}

/** From then on a reviewer has approved what the processor holds. */
const roundOfApproval = 3;

/** Lets the processor settle the refund, unless its cancellation is requested; in the flow `settlement`, after one check. */
async function settleWhenDue(stage: Stage, { externalRefundId, work }: OpenRefund): Promise<void> {
  stage.rounds += 1;
  if (stage.run.answer === 'held for a reviewer' && stage.rounds > roundOfApproval)
    await stage.approveAtProcessor();
  if (externalRefundId === null) return;
  const wasSeen = (work?.consecutiveFailures ?? 0) > 0 || stage.run.flow !== 'settlement';
  const isToBeCancelled = (work?.cancelRequestedAt ?? null) !== null;
  if ((wasSeen && !isToBeCancelled) || stage.rounds > patientRounds) await settleAtProcessor(stage);
}

const openStatuses = ['pending', 'requires_action', 'submitted_for_settlement', 'settling'];

/** Settles the refund at its processor. */
export async function settleAtProcessor(stage: Stage): Promise<void> {
  const open = (await stage.ledger()).filter(({ status }) => openStatuses.includes(status));
  const { processor } = stage.run;
  await Promise.all(
    open.map(({ id }) => endAtProcessor(stage.service, { processor, externalRefundId: id }, 'succeeded')),
  );
}
