import { randomFillSync } from 'node:crypto';
import type { Faults } from '../faults.ts';
import type { SandboxProcessor } from '../processor.ts';
import type { Ledger, Refund } from './ledger.ts';

/** What every route needs; built once in server.ts. */
export interface Sandbox {
  processors: readonly SandboxProcessor[];
  /** The processor of a scope. */
  processor(name: string): SandboxProcessor;
  ledger: Ledger;
  faults: Faults;
  now: () => number;
  /** Sends webhooks about a refund that is new (`previous` is null) or has changed. */
  announce: (previous: Refund | null, refund: Refund, cause: Cause | null) => void;
}

/** The API request behind a change; null when the clock or the control API did it. */
export interface Cause {
  requestId: string;
  idempotencyKey: string | null;
}

export interface Move {
  status: string;
  failureReason?: string | null;
  driven?: boolean;
}

export function addRefund(sandbox: Sandbox, refund: Refund, cause: Cause | null): Refund {
  sandbox.ledger.putRefund(refund);
  sandbox.announce(null, refund, cause);
  return refund;
}

/** The only way a refund changes. */
export function moveRefund(sandbox: Sandbox, refund: Refund, move: Move, cause: Cause | null): Refund {
  const next: Refund = {
    ...refund,
    status: move.status,
    failureReason: move.failureReason ?? null,
    driven: move.driven ?? refund.driven,
  };
  sandbox.ledger.putRefund(next);
  if (next.status !== refund.status) sandbox.announce(refund, next, cause);
  return next;
}

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';

export function randomId(prefix: string, length: number): string {
  let id = prefix;
  for (const byte of takeRandomBytes(length)) id += ALPHABET[byte % ALPHABET.length];
  return id;
}

/** Random bytes are cheaper in large amounts. */
const pool = Buffer.alloc(4096);
let poolUsed = pool.length;

function takeRandomBytes(length: number): Buffer {
  if (poolUsed + length > pool.length) {
    randomFillSync(pool);
    poolUsed = 0;
  }
  poolUsed += length;
  return pool.subarray(poolUsed - length, poolUsed);
}
