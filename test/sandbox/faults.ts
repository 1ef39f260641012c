import type { LimitedBy } from './rates.ts';

export const OPERATIONS = [
  'transaction.get',
  'refund.create',
  'refund.get',
  'refund.find',
  'refund.list',
  'refund.cancel',
] as const;

export type Operation = (typeof OPERATIONS)[number];

/** What a processor answers when it fails. What is left out is as usual for the status. */
export interface Failure {
  status: number;
  code?: string | undefined;
  message?: string | undefined;
  /** Stripe alone has these. */
  type?: string | undefined;
  param?: string | undefined;
  message_code?: string | undefined;
  headers?: Record<string, string> | undefined;
  /** The limit that was exceeded. */
  limitedBy?: LimitedBy | undefined;
}

/** What happens to a request. */
export interface Course {
  /** When its work is done. */
  work: 'never' | 'at once' | 'late' | 'once approved';
  /** What the caller sees: the answer, another one, a socket that is closed in the end, or a reset. */
  reply: 'answer' | 'malformed' | Failure | 'none' | 'reset';
  /** Until late work, the end of a silence, or a late answer, unless the fault says otherwise. */
  delayMs?: number;
}

const SILENCE_MS = 60_000;

const FAULTS = {
  error: { work: 'never', reply: { status: 500 } },
  'error-403': { work: 'never', reply: { status: 403 } },
  'error-500': { work: 'never', reply: { status: 500 } },
  'error-503': { work: 'never', reply: { status: 503 } },
  'error-500-after-apply': { work: 'at once', reply: { status: 500 } },
  'error-500-held': { work: 'once approved', reply: { status: 500 } },
  'rate-limit': { work: 'never', reply: { status: 429 } },
  approval: {
    work: 'once approved',
    reply: {
      status: 402,
      code: 'approval_required',
      message: 'This request requires approval. It is carried out once a reviewer has approved it.',
    },
  },
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
  /** What an `error` answers. */
  error?: Failure | undefined;
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
    const reply = fault.error ?? course.reply;
    return { ...course, reply, delayMs: fault.delayMs ?? course.delayMs ?? 0 };
  }
}
