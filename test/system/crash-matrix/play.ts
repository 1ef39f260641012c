import { brokenPromises } from './broken-promises.ts';
import { carryOn } from './carry-on.ts';
import type { Combination, Run } from './combinations.ts';
import { cancel, flows, request } from './flows.ts';
import { type Breakpoint, CrashError } from './killable-process.ts';
import { type Actor, isOver, type Lane, Stage } from './stage.ts';

/** The result of a combination. */
export interface Played {
  wasReached: boolean;
  violations: string[];
}

/**
 * Plays a flow without a crash.
 * @returns the points that its process reached.
 * @throws Error when the refund did not end.
 */
export async function traceOf(lane: Lane, run: Run): Promise<string[]> {
  const stage = await openStage(lane, run);
  const actor = stage.start();
  await actor.process.run(async () => flows[run.flow].begin?.(stage, actor));
  await carryOn(stage, actor);
  const refund = await stage.refund();
  if (refund === null || !isOver(refund)) throw new Error(`${JSON.stringify(run)} did not end`);
  return actor.process.trace;
}

/** Plays one combination, lets healthy processes finish the refund, and checks every promise. */
export async function play(lane: Lane, combination: Combination): Promise<Played> {
  const stage = await openStage(lane, combination).catch(() => null);
  // On a busy machine even healthy processes may fail before the crash. The combination is then played again.
  if (stage === null) return { wasReached: false, violations: [] };
  const strike = new Strike(stage, combination);
  const victim = stage.start(strike);
  const rival = combination.mishap === 'two workers at once' ? stage.start(strike) : null;
  const unexpected: string[] = [];
  const life = live(stage, victim, combination, rival).catch((error: unknown) => {
    if (!isExpected(error))
      unexpected.push(`unexpected: ${error instanceof Error ? error.stack : String(error)}`);
  });
  await Promise.race([life, strike.frozen]);
  const rescuer = stage.start();
  if (victim.process.isFrozen) {
    await carryOn(stage, rescuer, combination.isThawedAtEnd ? {} : { rounds: 1 });
    victim.process.thaw(await stage.newestLeaseToken());
  }
  await life;
  await strike.cancelling;
  // A client that got no answer repeats its request.
  if ((await stage.refund()) === null) await request(stage, rescuer);
  await carryOn(stage, rescuer);
  await stage.untilCallsHaveEnded();
  const late = victim.process.lateWrites.map((name) => `wrote ${name} after it had lost its lease`);
  const violations = [...unexpected, ...late, ...(await brokenPromises(stage, combination))];
  return { wasReached: strike.struck, violations };
}

async function openStage(lane: Lane, run: Run): Promise<Stage> {
  const flow = flows[run.flow];
  const number = nextNumber();
  const { id: trait = '', ...payment } = flow.payment?.(run, number) ?? {};
  const id = `${run.processor === 'stripe' ? 'ch_' : 'sale_'}${trait}_${number}`;
  if (trait !== 'missing') {
    const isStripe = run.processor === 'stripe';
    await lane.service.sandbox.transaction({
      processor: run.processor,
      id,
      amount: 10_000,
      currency: 'usd',
      ...(isStripe ? { paymentMethod: 'customer_balance' } : {}),
      ...payment,
    });
  }
  const stage = new Stage(lane, run, id);
  // An account is marked once; each combination stops before or after that.
  await stage.forgetAbilities();
  if (flow.isArmedFirst) await stage.arm(flow.call);
  await flow.arrange?.(stage, stage.start());
  if (!flow.isArmedFirst) await stage.arm(flow.call);
  return stage;
}

let payments = 0;

function nextNumber(): number {
  payments += 1;
  return payments;
}

async function live(
  stage: Stage,
  actor: Actor,
  { flow, mishap }: Combination,
  rival: Actor | null,
): Promise<void> {
  await actor.process.run(async () => flows[flow].begin?.(stage, actor));
  await carryOn(stage, actor, { mishap, rival });
}

/** Kills or freezes the process that reaches the point, after a cancellation where the combination has one. */
class Strike implements Breakpoint {
  readonly point: string;
  struck = false;
  readonly visits = new Map<string, number>();
  cancelling: Promise<void> | null = null;
  readonly frozen: Promise<void>;
  readonly #stage: Stage;
  readonly #combination: Combination;
  #resolveFrozen = () => {};

  constructor(stage: Stage, combination: Combination) {
    this.point = combination.point;
    this.#stage = stage;
    this.#combination = combination;
    this.frozen = new Promise((resolve) => {
      this.#resolveFrozen = resolve;
    });
  }

  async strike(process: Actor['process'], canWait: boolean): Promise<void> {
    if (this.#combination.isCancelled) {
      this.cancelling = cancel(this.#stage, this.#stage.start());
      if (canWait) await this.cancelling;
    }
    if (this.#combination.mishap !== 'stalled and retaken') {
      process.kill();
      return;
    }
    process.freeze();
    this.#resolveFrozen();
  }
}

/** True for the errors of killed and frozen processes. */
function isExpected(error: unknown): boolean {
  for (let current = error; current instanceof Error; current = current.cause) {
    if (current instanceof CrashError) return true;
  }
  return false;
}
