import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '#shared/platform/database.ts';
import type { SandboxControl } from '../../sandbox/clients.ts';
import { readLedger } from '../../support/refunds/ledger.ts';
import { ledgerViolations, orphanViolations, type Violation } from '../../support/refunds/ledger-rules.ts';
import { type RefundRecord, recordsOf } from '../../support/refunds/refund-records.ts';
import type { ClientLog } from './client.ts';
import { clientViolations } from './client-rules.ts';
import { waitingViolations } from './waiting-rules.ts';
import type { Waits } from './waits.ts';

/** The state once no more faults were injected. */
export interface Quiet {
  /** From the end of the last fault until no refund was `processing`. */
  ms: number;
  /** Still `processing` when time was up. */
  stuck: RefundRecord[];
}

/** The result of a run. */
export interface Verdict {
  seed: number;
  /** Refunds that clients know to be accepted. */
  acceptedCount: number;
  /** How often each fault was injected. */
  faults: ReadonlyMap<string, number>;
  violations: readonly Violation[];
  quiet: Quiet;
  waits: Waits;
}

const pollIntervalMs = 200;

/**
 * Waits until every refund has ended and every client has its answer.
 * @param clients resolves when the last client has its answer.
 * @param patienceMs after which open refunds count as stuck.
 */
export async function untilQuiet(db: Database, clients: Promise<void>, patienceMs: number): Promise<Quiet> {
  const startedAt = performance.now();
  const passedMs = () => performance.now() - startedAt;
  let areAnswered = false;
  void clients.then(() => {
    areAnswered = true;
  });
  let lastBusyMs = 0;
  while (passedMs() < patienceMs) {
    const open = await db.refund.count({ where: { status: 'processing' } });
    if (open > 0) lastBusyMs = passedMs();
    else if (areAnswered) break;
    await sleep(pollIntervalMs);
  }
  return { ms: lastBusyMs, stuck: await recordsOf(db, { status: 'processing' }) };
}

/** Compares what clients were answered, what is on record and what the processors did. */
export async function findViolations(
  db: Database,
  control: SandboxControl,
  logs: readonly ClientLog[],
): Promise<Violation[]> {
  const ledger = await readLedger(db, control);
  return [
    ...ledgerViolations(ledger),
    ...orphanViolations(ledger, true),
    ...waitingViolations(ledger.events),
    ...clientViolations(logs, ledger.refunds),
  ];
}

export function hasPassed({ violations, quiet }: Verdict): boolean {
  return violations.length === 0 && quiet.stuck.length === 0;
}

/** The whole run in one line. */
export function verdictLine(verdict: Verdict): string {
  const { seed, acceptedCount, faults, violations, quiet, waits } = verdict;
  const count = (kind: Violation['kind']) => violations.filter((violation) => violation.kind === kind).length;
  const total = [...faults.values()].reduce((sum, times) => sum + times, 0);
  const each = [...faults].sort(([, a], [, b]) => b - a).map(([name, times]) => `${times} ${name}`);
  return [
    `chaos seed ${seed}: ${acceptedCount} refunds`,
    `${total} faults (${each.join(', ')})`,
    `${count('lost')} lost, ${count('doubled')} doubled, ${quiet.stuck.length} stuck`,
    `${count('wrong')} otherwise wrong`,
    `no client waited longer than ${inSeconds(waits.longestMs)} s, nor ${inSeconds(waits.beyondOutagesMs)} s beyond outages`,
    `quiet after ${Math.round(quiet.ms / 1000)} s: ${hasPassed(verdict) ? 'PASS' : 'FAIL'}`,
  ].join(', ');
}

const inSeconds = (ms: number) => (ms / 1000).toFixed(1);

/** What is wrong, one line each. */
export function problemLines({ violations, quiet }: Verdict): string[] {
  return [
    ...violations.map(({ kind, refundId, what }) => `${kind.toUpperCase()} ${refundId ?? ''} ${what}`),
    ...quiet.stuck.map(({ id, attempts }) => `STUCK ${id}, last outcome ${attempts[0]?.outcome ?? 'none'}`),
  ];
}
