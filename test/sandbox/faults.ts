import type { Processor } from './ledger.ts';

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
  processor: Processor;
  operation: Operation | '*';
  kind: FaultKind;
  /** How often it still strikes; null means until cleared. */
  times: number | null;
  delayMs: number;
  probability: number;
  /** The one payment whose requests it strikes; null means any. */
  transactionId: string | null;
}

/** What a request is about, as far as faults can tell. */
export interface Target {
  /** Null for requests without an operation of their own, which are met by `*` alone. */
  operation: Operation | null;
  /** Every id of the payment that is meant, by itself or through one of its refunds. */
  transactionIds: readonly string[];
}

/** Faults live in memory only: a restarted sandbox is a healthy one. */
export class Faults {
  #armed: Fault[] = [];
  readonly #strikes = new Map<FaultKind, number>();

  add(fault: Fault): void {
    this.#armed.push(fault);
  }

  /** Those that may still strike, oldest first. */
  get armed(): readonly Fault[] {
    return this.#armed;
  }

  clear(): void {
    this.#armed = [];
  }

  /** How often each kind has struck since the start, those that were cleared included. */
  strikes(): Record<string, number> {
    return Object.fromEntries(this.#strikes);
  }

  /**
   * The fault that strikes this request, if any: the oldest that matches and whose dice say so. At most one strikes, and
   * only the one that strikes is used up.
   * @param readTarget is not called while nothing is armed.
   */
  strike(processor: Processor, readTarget: () => Target): Fault | null {
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
