import { setTimeout as sleep } from 'node:timers/promises';
import type { Breakable } from '../../support/faults/breakable.ts';
import { ServiceProcess } from '../../support/faults/service-process.ts';
import type { OwnPostgres, OwnRedis } from '../../support/faults/stores.ts';
import { type Fault, nameOf, type PlannedFault } from './faults.ts';

/** What faults are injected into. */
export interface FaultTargets {
  postgres: OwnPostgres;
  /** Null when the queues are in PostgreSQL. */
  redis: OwnRedis | null;
  /** APIs and workers, by name. */
  processes: ReadonlyMap<string, Breakable>;
}

/**
 * Injects planned faults in step with the load, so that they come more slowly on a slow machine. Several may last at the
 * same time, but only one on each target.
 */
export class FaultInjector {
  /** How often each fault was injected. */
  readonly counts = new Map<string, number>();
  /** Rejects when a fault cannot be injected or undone. */
  readonly failed: Promise<never>;
  readonly #targets: FaultTargets;
  readonly #say: (line: string) => void;
  readonly #stopping = new AbortController();
  readonly #active = new Map<string, Promise<unknown>>();
  readonly #plan: Iterator<PlannedFault, never>;
  #reject: (reason: unknown) => void = () => {};
  #next: PlannedFault;
  #ordersSince = 0;

  /** @param plan without end. */
  constructor(targets: FaultTargets, plan: Iterator<PlannedFault, never>, say: (line: string) => void) {
    this.#targets = targets;
    this.#say = say;
    this.#plan = plan;
    this.#next = plan.next().value;
    this.failed = new Promise((_, reject) => {
      this.#reject = reject;
    });
    // The rejection may come before the caller awaits it.
    this.failed.catch(() => {});
  }

  /** To be called for each order. */
  noteOrder(): void {
    this.#ordersSince += 1;
    if (this.#ordersSince < this.#next.afterOrders) return;
    this.#begin(this.#next.fault);
    this.#next = this.#plan.next().value;
    this.#ordersSince = 0;
  }

  /**
   * Undoes every fault, and waits until all targets run.
   * @throws when a fault could not be injected or undone.
   */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.race([Promise.all(this.#active.values()), this.failed]);
  }

  #begin(fault: Fault): void {
    const isBusy = this.#active.has(fault.target);
    this.#say(
      `${nameOf(fault)} ${JSON.stringify(fault)}${isBusy ? ' (left out: its target is broken)' : ''}`,
    );
    if (isBusy) return;
    this.counts.set(nameOf(fault), (this.counts.get(nameOf(fault)) ?? 0) + 1);
    const done = this.#inject(fault)
      .catch((error: unknown) => this.#reject(error))
      .finally(() => this.#active.delete(fault.target));
    this.#active.set(fault.target, done);
  }

  async #inject(fault: Fault): Promise<void> {
    const { postgres, redis } = this.#targets;
    if (fault.action === 'flush') return await redis?.flush();
    if (fault.action === 'disconnect') return await postgres.disconnectAll();
    const target = this.#targetOf(fault.target);
    await target[fault.action]();
    await sleep(fault.forMs, null, { signal: this.#stopping.signal }).catch(() => {});
    if (fault.action === 'freeze') target.thaw();
    else {
      await target.start();
      // PostgreSQL accepts connections once it is started.
      if (target instanceof ServiceProcess) await target.ready();
    }
  }

  #targetOf(name: string): Breakable {
    const { postgres, redis, processes } = this.#targets;
    const target = name === 'postgres' ? postgres : name === 'redis' ? redis : processes.get(name);
    if (target === null || target === undefined) throw new RangeError(`There is no ${name} to break.`);
    return target;
  }
}
