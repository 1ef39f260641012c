import type { Database } from '#shared/platform/database.ts';
import type { SandboxControl } from '../../sandbox/clients.ts';
import { readLedger } from '../../support/refunds/ledger.ts';
import { ledgerViolations, type Violation } from '../../support/refunds/ledger-rules.ts';
import { type RefundRecord, recordsOf } from '../../support/refunds/refund-records.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { ClientLog } from './client.ts';
import { clientViolations } from './client-rules.ts';

/** The result of a run. */
export interface Verdict {
  seed: number;
  /** Refunds that clients know to be accepted. */
  acceptedCount: number;
  /** How often each fault was injected. */
  faults: ReadonlyMap<string, number>;
  violations: readonly Violation[];
  /** Still `processing` long after the last fault. */
  stuck: readonly RefundRecord[];
}

/**
 * Waits until every refund has ended and every client has its answer.
 * @param clients resolves when the last client has its answer.
 * @returns the refunds that are still open when time is up, without those that wait a day for a person: Stripe keeps a server error for their
 * key, and has no refund (docs/processor-answers.md). One that it had would have been found.
 */
export async function untilQuiet(
  db: Database,
  clients: Promise<void>,
  patienceMs: number,
): Promise<RefundRecord[]> {
  let areAnswered = false;
  void clients.then(() => {
    areAnswered = true;
  });
  const isQuiet = async () =>
    areAnswered && (await db.refund.count({ where: { status: 'processing' } })) === 0;
  // What is still open then is the result.
  await waitFor('quiet', isQuiet, { timeoutMs: patienceMs, intervalMs: 200 }).catch(() => undefined);
  return await recordsOf(db, { status: 'processing', NOT: { work: { serverErrorAt: { not: null } } } });
}

/** Compares what clients were answered, what is on record and what the processors did. */
export async function findViolations(
  db: Database,
  control: SandboxControl,
  logs: readonly ClientLog[],
): Promise<Violation[]> {
  const ledger = await readLedger(db, control);
  const misdirected = await control.misdirected();
  return [
    ...ledgerViolations(ledger),
    ...clientViolations(logs, ledger),
    ...misdirected.map(
      (call): Violation => ({ kind: 'misdirected', refundId: null, what: JSON.stringify(call) }),
    ),
  ];
}

export function hasPassed({ violations, stuck }: Verdict): boolean {
  return violations.length === 0 && stuck.length === 0;
}

/** The whole run in one line. */
export function verdictLine(verdict: Verdict): string {
  const { seed, acceptedCount, faults, violations, stuck } = verdict;
  const count = (kind: Violation['kind']) => violations.filter((violation) => violation.kind === kind).length;
  const total = [...faults.values()].reduce((sum, times) => sum + times, 0);
  const each = [...faults].sort(([, a], [, b]) => b - a).map(([name, times]) => `${times} ${name}`);
  return [
    `chaos seed ${seed}: ${acceptedCount} refunds`,
    `${total} faults (${each.join(', ')})`,
    `${count('lost')} lost, ${count('doubled')} doubled, ${stuck.length} stuck`,
    `${count('misdirected')} sent to the wrong account`,
    `${count('wrong')} otherwise wrong: ${hasPassed(verdict) ? 'PASS' : 'FAIL'}`,
  ].join(', ');
}

/** What is wrong, one line each. */
export function problemLines({ violations, stuck }: Verdict): string[] {
  return [
    ...violations.map(({ kind, refundId, what }) => `${kind.toUpperCase()} ${refundId ?? ''} ${what}`),
    ...stuck.map(({ id, attempts }) => `STUCK ${id}, last outcome ${attempts[0]?.outcome ?? 'none'}`),
  ];
}
