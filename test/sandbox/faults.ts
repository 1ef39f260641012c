export const OPERATIONS = [
  'transaction.get',
  'refund.create',
  'refund.get',
  'refund.find',
  'refund.list',
  'refund.cancel',
] as const;

export const FAULT_KINDS = [
  'error-403',
  'error-500',
  'error-503',
  'error-500-after-apply',
  'rate-limit',
  'timeout',
  'timeout-after-apply',
  'timeout-late-apply',
  'reset',
  'reset-after-apply',
  'reset-late-apply',
  'delay',
  'malformed',
] as const;

export type Operation = (typeof OPERATIONS)[number];
export type FaultKind = (typeof FAULT_KINDS)[number];

export interface Fault {
  processor: string;
  operation: Operation | '*';
  kind: FaultKind;
  /** How often it still applies; null means until cleared. */
  times: number | null;
  delayMs: number;
  probability: number;
  /** The payment whose requests it applies to; null means any. */
  transactionId: string | null;
}

/** What a request is about. */
export interface Target {
  /** Null for requests that only faults of operation `*` apply to. */
  operation: Operation | null;
  /** Every id of the payment, named directly or by one of its refunds. */
  transactionIds: readonly string[];
}

/** Faults are kept in memory only: a restart removes them. */
export class Faults {
  #armed: Fault[] = [];
  readonly #strikes = new Map<FaultKind, number>();

  add(fault: Fault): void {
    this.#armed.push(fault);
  }

  /** Faults that may still apply, oldest first. */
  get armed(): readonly Fault[] {
    return this.#armed;
  }

  clear(): void {
    this.#armed = [];
  }

  /** How often each kind was applied since the start. */
  strikes(): Record<string, number> {
    return Object.fromEntries(this.#strikes);
  }

  /**
   * Chooses the fault for a request: the oldest that matches, subject to its probability.
   * @param readTarget not called while no fault is armed.
   */
  strike(processor: string, readTarget: () => Target): Fault | null {
    if (this.#armed.length === 0) return null;
    const { operation, transactionIds } = readTarget();
    const fault = this.#armed.find(
      (armed) =>
        armed.processor === processor &&
        (armed.operation === '*' || armed.operation === operation) &&
        (armed.transactionId === null || transactionIds.includes(armed.transactionId)) &&
        (armed.probability >= 1 || Math.random() < armed.probability),
    );
    if (fault === undefined) return null;
    this.#strikes.set(fault.kind, (this.#strikes.get(fault.kind) ?? 0) + 1);
    if (fault.times !== null) {
      fault.times -= 1;
      if (fault.times <= 0) this.#armed = this.#armed.filter((armed) => armed !== fault);
    }
    return fault;
  }
}
