import { setTimeout as sleep } from 'node:timers/promises';
import { type Breakable, ServiceProcess } from '../../support/faults/service-process.ts';
import { OwnPostgres, OwnRedis } from '../../support/faults/stores.ts';
import type { Random } from '../../support/random.ts';
import { type Fault, nameOf, planFault } from './faults.ts';

interface InjectorOptions {
  /** Stores, APIs and workers, by name. */
  targets: ReadonlyMap<string, Breakable>;
  random: Random;
  say: (line: string) => void;
  /** Called when a fault cannot be injected or undone. */
  giveUp: () => void;
}

/**
 * Injects faults in step with the load, so that they come more slowly on a slow machine. Several may last at the same time,
 * but only one on each target. The same seed gives the same faults in the same order.
 */
export class FaultInjector {
  /** How often each fault was injected. */
  readonly counts = new Map<string, number>();
  readonly #options: InjectorOptions;
  readonly #stopping = new AbortController();
  readonly #active = new Map<string, Promise<unknown>>();
  readonly #failures: unknown[] = [];
  #ordersLeft = 1;

  constructor(options: InjectorOptions) {
    this.#options = options;
  }

  /** To be called for each order. */
  noteOrder(): void {
    this.#ordersLeft -= 1;
    if (this.#ordersLeft > 0) return;
    const { random, targets } = this.#options;
    this.#begin(planFault(random, [...targets.keys()]));
    this.#ordersLeft = random.between(1, 4);
  }

  /**
   * Undoes every fault, and waits until all targets run.
   * @throws when a fault could not be injected or undone.
   */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#active.values());
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  #begin(fault: Fault): void {
    const { say, giveUp } = this.#options;
    const name = nameOf(fault);
    const isBusy = this.#active.has(fault.target);
    say(`${name} ${JSON.stringify(fault)}${isBusy ? ' (left out: its target is broken)' : ''}`);
    if (isBusy) return;
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    const done = this.#inject(fault)
      .catch((error: unknown) => {
        this.#failures.push(error);
        giveUp();
      })
      .finally(() => this.#active.delete(fault.target));
    this.#active.set(fault.target, done);
  }

  async #inject({ action, target: name, forMs }: Fault): Promise<void> {
    const target = this.#options.targets.get(name);
    if (action === 'flush' && target instanceof OwnRedis) return await target.flush();
    if (action === 'disconnect' && target instanceof OwnPostgres) return await target.disconnectAll();
    if (target === undefined || action === 'flush' || action === 'disconnect')
      throw new RangeError(`There is no ${name} to ${action}.`);
    await target[action]();
    await sleep(forMs, null, { signal: this.#stopping.signal }).catch(() => {});
    if (action === 'freeze') return target.thaw();
    await target.start();
    // PostgreSQL accepts connections once it is started.
    if (target instanceof ServiceProcess) await target.ready();
  }
}
