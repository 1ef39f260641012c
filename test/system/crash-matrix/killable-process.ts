import { AsyncLocalStorage } from 'node:async_hooks';

/** What the code of a killed process meets wherever it reaches out: nothing leaves the process any more. */
export class ProcessKilled extends Error {
  override readonly name = 'ProcessKilled';
}

/** What a frozen process finds when it goes on: the database has given up its open transaction. */
export class TransactionLost extends Error {
  override readonly name = 'TransactionLost';
  readonly code = 'P2028';
}

/** What a process meets whose connection broke before the database had answered. */
export class AnswerLost extends Error {
  override readonly name = 'AnswerLost';
  readonly code = 'ECONNRESET';
}

/** The moment at which something happens to a process, once. */
export interface Breakpoint {
  /** A name such as `before createRefund`; with `, again` the second time that it is come by. */
  point: string;
  struck: boolean;
  /** How often each point was come by, by any of the processes that share the breakpoint. */
  readonly visits: Map<string, number>;
  /**
   * Does it.
   * @param canWait false where the process goes on at once, or holds a database transaction open that others wait for:
   * then it has to be done before the first pause.
   */
  strike(process: KillableProcess, canWait: boolean): Promise<void>;
}

const running = new AsyncLocalStorage<KillableProcess>();
const elapsedMs = performance.now.bind(performance);

// Time goes on for a frozen process as for everybody else, and its own clock shows it when it wakes up.
performance.now = () => elapsedMs() + (running.getStore()?.sleptMs ?? 0);

/**
 * A process of the service inside of the test's own, which can be killed or frozen wherever it reaches out to the
 * database, a processor or a queue. Its `Dependencies` report to it; the code of the service knows nothing of it.
 */
export class KillableProcess {
  /** Every point that it came by, in order; the third time and later ones are left out. */
  readonly trace: string[] = [];
  /** Calls that are on the wire, also those that nobody waits for any more. */
  readonly calls = new Set<Promise<unknown>>();
  sleptMs = 0;
  /** What it wrote on a refund that somebody else had claimed while it was frozen; nothing may. */
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

  /** Runs code as this process's own. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return running.run(this, work);
  }

  kill(): void {
    this.#isKilled = true;
  }

  /** Stops it where it is, as SIGSTOP does. */
  freeze(): void {
    let end = () => {};
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#sleep = { over, end };
  }

  /** @param newestToken the fencing token of its refund by now. */
  thaw(newestToken: number): void {
    this.#newestToken = newestToken;
    this.#sleep?.end();
    this.#sleep = null;
  }

  /** Notes a write on the refund that has been carried out. */
  noteWrite(name: string): void {
    if (this.#ownToken !== null && this.#ownToken < this.#newestToken) this.lateWrites.push(name);
  }

  /** Notes the fencing token of a claim that it made. */
  noteClaim(token: number | null): void {
    if (token !== null) this.#ownToken = token;
  }

  get isFrozen(): boolean {
    return this.#sleep !== null;
  }

  /**
   * Lets through what reaches out of the process, once it runs.
   * @throws ProcessKilled when it never will.
   */
  async pass(): Promise<void> {
    // It stops here, so whatever it had on the wire has been answered: the account is marked behind the answer.
    if (this.isFrozen) this.calls.clear();
    await this.#wakeUp();
  }

  async #wakeUp(): Promise<void> {
    await this.#sleep?.over;
    this.assertAlive();
  }

  assertAlive(): void {
    if (this.#isKilled) throw new ProcessKilled('The process was killed.');
  }

  /** Comes by a point: here it may be killed or frozen. */
  async reach(name: string, isOpen = false): Promise<void> {
    await this.pass();
    const breakpoint = this.#visit(name);
    if (breakpoint === null) return;
    if (name.startsWith('answer lost')) throw new AnswerLost('The connection broke.');
    await breakpoint.strike(this, !isOpen);
    this.assertAlive();
    if (isOpen && this.isFrozen) throw new TransactionLost('The transaction was given up.');
    // What is on the wire goes on there.
    if (name.startsWith('during ')) await this.#wakeUp();
    else await this.pass();
  }

  /** The same where the code does not wait: a process that is frozen here stops at its next step. */
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
