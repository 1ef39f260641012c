export const OPERATIONS = [
  'transaction.get',
  'refund.create',
  'refund.get',
  'refund.find',
  'refund.list',
  'refund.cancel',
] as const;

export type Operation = (typeof OPERATIONS)[number];

/** A status that the processor answers with when it fails. */
export type FailureStatus = 403 | 429 | 500 | 503;

/** What happens to a request. */
export interface Course {
  /** When its work is done. */
  work: 'never' | 'at once' | 'late';
  /** What the caller sees: the answer, another one, a socket that is closed in the end, or a reset. */
  reply: 'answer' | 'malformed' | FailureStatus | 'none' | 'reset';
  /** Until late work, the end of a silence, or a late answer, unless the fault says otherwise. */
  delayMs?: number;
}

const SILENCE_MS = 60_000;

const FAULTS = {
  'error-403': { work: 'never', reply: 403 },
  'error-500': { work: 'never', reply: 500 },
  'error-503': { work: 'never', reply: 503 },
  'error-500-after-apply': { work: 'at once', reply: 500 },
  'rate-limit': { work: 'never', reply: 429 },
  timeout: { work: 'never', reply: 'none', delayMs: SILENCE_MS },
  'timeout-after-apply': { work: 'at once', reply: 'none', delayMs: SILENCE_MS },
  'timeout-late-apply': { work: 'late', reply: 'none', delayMs: SILENCE_MS },
  reset: { work: 'never', reply: 'reset' },
  'reset-after-apply': { work: 'at once', reply: 'reset' },
  'reset-late-apply': { work: 'late', reply: 'reset', delayMs: 1_000 },
  delay: { work: 'at once', reply: 'answer' },
  malformed: { work: 'at once', reply: 'malformed' },
} satisfies Record<string, Course>;

export type FaultKind = keyof typeof FAULTS;

export const FAULT_KINDS = Object.keys(FAULTS) as FaultKind[];

export interface Fault {
  processor: string;
  operation: Operation | '*';
  kind: FaultKind;
  /** How often it still applies; null means until cleared. */
  times: number | null;
  delayMs?: number | undefined;
  probability: number;
  /** The payment whose requests it applies to; null means any. */
  transactionId: string | null;
}

/** What a request is about. */
export interface Target {
  processor: string;
  /** Null for requests that only faults of operation `*` apply to. */
  operation: Operation | null;
  /** Every id of the payment, named directly or by one of its refunds. */
  transactionIds: readonly string[];
}

/** Faults are kept in memory only: a restart removes them. */
export class Faults {
  /** Those that may still apply, oldest first. */
  armed: Fault[] = [];
  /** How often each kind was applied since the start. */
  readonly strikes: Partial<Record<FaultKind, number>> = {};

  /** What the oldest fault that matches a request does to it, subject to its probability; null without one. */
  strike({ processor, operation, transactionIds }: Target): Required<Course> | null {
    const fault = this.armed.find(
      (armed) =>
        armed.processor === processor &&
        (armed.operation === '*' || armed.operation === operation) &&
        (armed.transactionId === null || transactionIds.includes(armed.transactionId)) &&
        (armed.probability >= 1 || Math.random() < armed.probability),
    );
    if (fault === undefined) return null;
    this.strikes[fault.kind] = (this.strikes[fault.kind] ?? 0) + 1;
    if (fault.times !== null) {
      fault.times -= 1;
      if (fault.times <= 0) this.armed = this.armed.filter((armed) => armed !== fault);
    }
    const course: Course = FAULTS[fault.kind];
    return { ...course, delayMs: fault.delayMs ?? course.delayMs ?? 0 };
  }
}
