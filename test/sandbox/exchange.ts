import type { IncomingHttpHeaders } from 'node:http';
import type { Fault, Faults, Target } from './faults.ts';
import type { Environment } from './ledger/ledger.ts';

export interface Call {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** The account of the credentials. `id` identifies it without revealing a secret. */
export interface Account {
  environment: Environment;
  id: string;
}

export interface Execution {
  answer: Answer;
  /** To be called once the answer is sent or lost. Until then its idempotency key is in use. */
  finished: () => void;
}

export type Outage = 'error-403' | 'error-500' | 'error-503' | 'rate-limit';

/** One processor's protocol. */
export interface Gateway {
  processor: string;
  /** The caller's account, or the answer that refuses the credentials. */
  admit(call: Call): Account | Answer;
  targetOf(call: Call, account: Account): Target;
  /** @param crash true to answer 500 although the work is done. */
  execute(call: Call, account: Account, crash: boolean): Execution;
  outage(kind: Outage): Answer;
  malformed(): Answer;
}

/** What the server should do with the connection. */
export type Delivery =
  | { kind: 'answer'; answer: Answer; afterMs: number; finished: () => void }
  /** `last` is what happens before the connection is closed. */
  | { kind: 'hang'; forMs: number; last: () => void }
  | { kind: 'reset'; work?: () => void; afterMs?: number };

/** Handles one call: credentials, then faults, then the processor's own logic. */
export function exchange(gateway: Gateway, call: Call, faults: Faults, latencyMs: number): Delivery {
  const account = gateway.admit(call);
  if ('status' in account) return plainly(account, latencyMs);
  const fault = faults.strike(gateway.processor, () => gateway.targetOf(call, account));
  if (fault === null) return { kind: 'answer', afterMs: latencyMs, ...gateway.execute(call, account, false) };
  return strike(gateway, call, account, fault, latencyMs);
}

function strike(gateway: Gateway, call: Call, account: Account, fault: Fault, latencyMs: number): Delivery {
  switch (fault.kind) {
    case 'error-403':
    case 'error-500':
    case 'error-503':
    case 'rate-limit':
      return plainly(gateway.outage(fault.kind), latencyMs);
    case 'timeout':
      return { kind: 'hang', forMs: fault.delayMs, last: () => undefined };
    case 'timeout-late-apply':
      return {
        kind: 'hang',
        forMs: fault.delayMs,
        last: () => gateway.execute(call, account, false).finished(),
      };
    case 'reset':
      return { kind: 'reset' };
    case 'timeout-after-apply':
      gateway.execute(call, account, false).finished();
      return { kind: 'hang', forMs: fault.delayMs, last: () => undefined };
    case 'reset-after-apply':
      gateway.execute(call, account, false).finished();
      return { kind: 'reset' };
    case 'reset-late-apply':
      return {
        kind: 'reset',
        work: () => gateway.execute(call, account, false).finished(),
        afterMs: fault.delayMs,
      };
    case 'malformed':
      gateway.execute(call, account, false).finished();
      return plainly(gateway.malformed(), latencyMs);
    case 'error-500-after-apply':
      return { kind: 'answer', afterMs: latencyMs, ...gateway.execute(call, account, true) };
    case 'delay':
      return { kind: 'answer', afterMs: latencyMs + fault.delayMs, ...gateway.execute(call, account, false) };
  }
}

function plainly(answer: Answer, afterMs: number): Delivery {
  return { kind: 'answer', answer, afterMs, finished: () => undefined };
}
