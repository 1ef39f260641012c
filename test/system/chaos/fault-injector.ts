import { setTimeout as sleep } from 'node:timers/promises';
import type { Deployment } from './deployment.ts';
import { type Fault, nameOf, type PlannedFault } from './fault-plan.ts';
import { raiseStorm } from './processor-faults.ts';
import type { SupervisedProcess } from './supervised-process.ts';

/**
 * Carries out planned faults, in step with the load: on a slow machine they come slower, and a service that is down can
 * get up. Several go on at once, but never two on one target.
 */
export class FaultInjector {
  /** How many of each were carried out. */
  readonly counts = new Map<string, number>();
  /** Rejects when a fault cannot be carried out, or not be mended: nobody may wait for what stays away. */
  readonly failed: Promise<never>;
  readonly #deployment: Deployment;
  readonly #say: (line: string) => void;
  readonly #stopping = new AbortController();
  readonly #underWay = new Map<string, Promise<unknown>>();
  #tellFailure: (reason: unknown) => void = () => {};
  readonly #plan: Iterator<PlannedFault, never>;
  #next: PlannedFault;
  #ordersSince = 0;

  /** @param plan without end. */
  constructor(deployment: Deployment, plan: Iterator<PlannedFault, never>, say: (line: string) => void) {
    this.#deployment = deployment;
    this.#say = say;
    this.#plan = plan;
    this.#next = plan.next().value;
    this.failed = new Promise((_, reject) => {
      this.#tellFailure = reject;
    });
    // Somebody may listen only later, or never.
    this.failed.catch(() => {});
  }

  /** To be told of each order that comes in. */
  noteOrder(): void {
    this.#ordersSince += 1;
    if (this.#ordersSince < this.#next.afterOrders) return;
    this.#begin(this.#next.fault);
    this.#next = this.#plan.next().value;
    this.#ordersSince = 0;
  }

  /**
   * Ends what goes on, and waits until everything that was taken away is back.
   * @throws when a fault could not be carried out, or not be mended.
   */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.race([Promise.all(this.#underWay.values()), this.failed]);
  }

  #begin(fault: Fault): void {
    const busy = this.#underWay.has(fault.target);
    this.#say(
      `${nameOf(fault)} ${JSON.stringify(fault)}${busy ? ' (left out: its target is not well)' : ''}`,
    );
    if (busy) return;
    this.counts.set(nameOf(fault), (this.counts.get(nameOf(fault)) ?? 0) + 1);
    const done = this.#carryOut(fault)
      .catch((error: unknown) => this.#tellFailure(error))
      .finally(() => this.#underWay.delete(fault.target));
    this.#underWay.set(fault.target, done);
  }

  async #carryOut(fault: Fault): Promise<void> {
    const { postgres, redis, control } = this.#deployment;
    switch (fault.action) {
      case 'kill':
        return await this.#process(fault.target).end('SIGKILL', fault.forMs);
      case 'terminate':
        return await this.#process(fault.target).end('SIGTERM', fault.forMs);
      case 'freeze':
        return await this.#freeze(fault.target, fault.forMs);
      case 'flush':
        return await redis?.flush();
      case 'restart':
        return fault.target === 'redis'
          ? await this.#gone(
              () => redis?.stop(),
              fault.forMs,
              () => redis?.start(),
            )
          : await this.#gone(
              () => postgres.stop(),
              fault.forMs,
              () => postgres.startAgain(),
            );
      case 'restart-immediately':
        return await this.#gone(
          () => postgres.stopImmediately(),
          fault.forMs,
          () => postgres.startAgain(),
        );
      case 'disconnect':
        return await postgres.disconnectAll();
      case 'storm':
        return await raiseStorm(control, fault.storm);
    }
  }

  async #freeze(target: string, forMs: number): Promise<void> {
    const { postgres, redis } = this.#deployment;
    if (target === 'postgres') postgres.freeze();
    else if (target === 'redis') redis?.freeze();
    else this.#process(target).signal('SIGSTOP');
    await this.#pause(forMs);
    if (target === 'postgres') postgres.thaw();
    else if (target === 'redis') redis?.thaw();
    else this.#process(target).signal('SIGCONT');
  }

  async #gone(
    stop: () => Promise<void> | undefined,
    forMs: number,
    start: () => Promise<void> | undefined,
  ): Promise<void> {
    await stop();
    await this.#pause(forMs);
    await start();
  }

  #process(name: string): SupervisedProcess {
    const { apis, workers, sandbox } = this.#deployment;
    const found = [...apis, ...workers, sandbox].find((process) => process.name === name);
    if (found === undefined) throw new RangeError(`There is no process ${name}.`);
    return found;
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, null, { signal: this.#stopping.signal }).catch(() => {});
  }
}
