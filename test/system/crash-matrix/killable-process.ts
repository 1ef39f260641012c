import { AsyncLocalStorage } from 'node:async_hooks';

/** Thrown in a process that was killed, or whose connection or transaction is lost. */
export class CrashError extends Error {
  override readonly name = 'CrashError';
  readonly code: string;

  /** @param code as the database gives it. */
  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** The point at which a process is killed or frozen, once. */
export interface Breakpoint {
  /** A name such as `before createRefund`, with `, again` for its second visit. */
  point: string;
  struck: boolean;
  /** How often each point was reached, by all processes that share the breakpoint. */
  readonly visits: Map<string, number>;
  /**
   * Kills or freezes the process.
   * @param canWait false where the process continues at once or holds a transaction open: then the effect must come before
   * the first pause.
   */
  strike(process: KillableProcess, canWait: boolean): Promise<void>;
}

const running = new AsyncLocalStorage<KillableProcess>();
const elapsedMs = performance.now.bind(performance);

// Time passes for a frozen process, and its clock shows it after the thaw.
performance.now = () => elapsedMs() + (running.getStore()?.sleptMs ?? 0);

/**
 * A simulated process of the service, which can be killed or frozen wherever it reaches out to the database, a processor
 * or a queue. Its `Dependencies` call it; the code of the service is unchanged.
 */
export class KillableProcess {
  /** The points that it reached, in order, with at most two visits of each. */
  readonly trace: string[] = [];
  /** Calls under way, also those of a killed process. */
  readonly calls = new Set<Promise<unknown>>();
  sleptMs = 0;
  /** Writes to a refund after another process had claimed it, which must not happen. */
  readonly lateWrites: string[] = [];
  #ownToken: number | null = null;
  #newestToken = 0;
  readonly #breakpoint: Breakpoint | null;
  readonly #visits: Map<string, number>;
  #isKilled = false;
  #sleep: { over: Promise<void>; end: () => void } | null = null;

  constructor(breakpoint: Breakpoint | null = null) {
    this.#breakpoint = breakpoint;
    this.#visits = breakpoint?.visits ?? new Map();
  }

  /** Runs code in this process. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return running.run(this, work);
  }

  kill(): void {
    this.#isKilled = true;
  }

  /** Suspends it, as SIGSTOP does. */
  freeze(): void {
    let end = () => {};
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#sleep = { over, end };
  }

  /** @param newestToken the current fencing token of its refund. */
  thaw(newestToken: number): void {
    this.#newestToken = newestToken;
    this.#sleep?.end();
    this.#sleep = null;
  }

  /** Notes a write to the refund. */
  noteWrite(name: string): void {
    if (this.#ownToken !== null && this.#ownToken < this.#newestToken) this.lateWrites.push(name);
  }

  /** Notes the fencing token of its claim. */
  noteClaim(token: number | null): void {
    if (token !== null) this.#ownToken = token;
  }

  get isFrozen(): boolean {
    return this.#sleep !== null;
  }

  /**
   * Waits until the process is not frozen.
   * @throws CrashError
   */
  async pass(): Promise<void> {
    // Its calls have been answered: the process stops only after their answers.
    if (this.isFrozen) this.calls.clear();
    await this.#wakeUp();
  }

  async #wakeUp(): Promise<void> {
    await this.#sleep?.over;
    this.assertAlive();
  }

  assertAlive(): void {
    if (this.#isKilled) throw new CrashError('The process was killed.', 'KILLED');
  }

  /** Reaches a point, where it may be killed or frozen. */
  async reach(name: string, isOpen = false): Promise<void> {
    await this.pass();
    const breakpoint = this.#visit(name);
    if (breakpoint === null) return;
    if (name.startsWith('answer lost')) throw new CrashError('The connection broke.', 'ECONNRESET');
    await breakpoint.strike(this, !isOpen);
    this.assertAlive();
    if (isOpen && this.isFrozen) throw new CrashError('The transaction was given up.', 'P2028');
    // The call under way continues.
    if (name.startsWith('during ')) await this.#wakeUp();
    else await this.pass();
  }

  /** The same for code that does not wait. A process that is frozen here stops at its next step. */
  reachAtOnce(name: string): void {
    this.assertAlive();
    void this.#visit(name)?.strike(this, false);
    this.assertAlive();
  }

  #visit(name: string): Breakpoint | null {
    const visits = (this.#visits.get(name) ?? 0) + 1;
    this.#visits.set(name, visits);
    if (visits > 2) return null;
    const point = visits === 1 ? name : `${name}, again`;
    this.trace.push(point);
    const breakpoint = this.#breakpoint;
    if (breakpoint === null || breakpoint.struck || breakpoint.point !== point) return null;
    breakpoint.struck = true;
    return breakpoint;
  }
}
