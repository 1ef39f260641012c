import { isDatabaseUnavailable } from '../../../shared/platform/database.ts';
import { advanceRefund } from '../../../worker/advance/advance-refund.ts';
import { sweep } from '../../../worker/schedule/sweep.ts';
import type { Mishap } from './combinations.ts';
import { ProcessKilled } from './killable-process.ts';
import type { Actor, Situation, Stage } from './stage.ts';

/** More than any refund needs to come to its end once its processor is well. */
const mostRounds = 40;
/** From then on the processor settles what it has, also when somebody still asks for it back. */
const patientRounds = 15;

export interface CarryOnOptions {
  mishap?: Mishap;
  /** Works on every job at the same time. */
  rival?: Actor | null;
  rounds?: number;
}

/**
 * The life of a worker with one refund: it gets the job that a queue has, or else time passes until the refund is due and
 * the sweep finds it; until there is nothing left to do.
 */
export async function carryOn(stage: Stage, actor: Actor, options: CarryOnOptions = {}): Promise<void> {
  for (let round = 0; round < (options.rounds ?? mostRounds); round += 1) {
    const refund = await stage.situation();
    if (refund === null || refund.isOver) return;
    if (!stage.wakeUps.has(refund.id)) {
      await settleWhenDue(stage, refund);
      await stage.letTimePass(refund.id);
      await actor.process.run(() => attempt(() => sweep(actor.deps, stage.run.processor)));
    }
    await deliver(stage, actor, refund.id, options);
  }
}

async function deliver(
  stage: Stage,
  actor: Actor,
  refundId: string,
  { mishap = 'none', rival = null }: CarryOnOptions,
): Promise<void> {
  if (!stage.wakeUps.delete(refundId)) return;
  if (mishap === 'job lost' && stage.lostJobs < 2) {
    stage.lostJobs += 1;
    return;
  }
  const work = ({ process, deps }: Actor) => process.run(() => attempt(() => advanceRefund(deps, refundId)));
  if (rival !== null) return await allOf([work(actor), work(rival)]);
  await work(actor);
  if (mishap === 'job twice') await work(actor);
}

/** A job that the database failed is over; another one is made of what is due. */
async function attempt(job: () => Promise<void>): Promise<void> {
  try {
    await job();
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
  }
}

/** Waits for both; one that was killed does not keep the other from its work. */
async function allOf(works: Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(works);
  const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  const [reason] = reasons.toSorted(
    (a, b) => Number(a instanceof ProcessKilled) - Number(b instanceof ProcessKilled),
  );
  if (reason !== undefined) throw reason;
}

/** The processor settles what it has, unless somebody asks for it back; where that is looked at, not at once. */
async function settleWhenDue(stage: Stage, refund: Situation): Promise<void> {
  stage.rounds += 1;
  if (!refund.isAccepted) return;
  const wasSeen = refund.wasSeenOpen || stage.run.flow !== 'settlement';
  if ((wasSeen && !refund.isToBeCancelled) || stage.rounds > patientRounds) await settleAtProcessor(stage);
}

const openStatuses = ['pending', 'requires_action', 'submitted_for_settlement', 'settling'];

/** Has the processor carry out what it has. */
export async function settleAtProcessor(stage: Stage): Promise<void> {
  const open = (await stage.ledger()).filter(({ status }) => openStatuses.includes(status));
  const status = stage.run.processor === 'stripe' ? 'succeeded' : 'settled';
  await Promise.all(open.map(({ id }) => stage.service.sandbox.driveRefund(id, { status })));
}
