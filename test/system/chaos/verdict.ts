import type { Violation } from '../../support/refunds/ledger-rules.ts';
import type { Quiet } from './quiet.ts';

/** What a run came to. */
export interface Verdict {
  seed: number;
  /** Refunds that clients were told are accepted. */
  acceptedCount: number;
  /** How often each was injected. */
  faults: ReadonlyMap<string, number>;
  violations: readonly Violation[];
  quiet: Quiet;
  /** How long the client waited that was answered last, its repetitions included. */
  longestWaitMs: number;
}

export function hasPassed({ violations, quiet }: Verdict): boolean {
  return violations.length === 0 && quiet.stuck.length === 0;
}

/** The whole run in one line. */
export function verdictLine(verdict: Verdict): string {
  const { seed, acceptedCount, faults, violations, quiet, longestWaitMs } = verdict;
  const count = (kind: Violation['kind']) => violations.filter((violation) => violation.kind === kind).length;
  const total = [...faults.values()].reduce((sum, times) => sum + times, 0);
  const each = [...faults].sort(([, a], [, b]) => b - a).map(([name, times]) => `${times} ${name}`);
  return [
    `chaos seed ${seed}: ${acceptedCount} refunds`,
    `${total} faults (${each.join(', ')})`,
    `${count('lost')} lost, ${count('doubled')} doubled, ${quiet.stuck.length} stuck`,
    `${count('wrong')} otherwise wrong`,
    `no client waited longer than ${Math.ceil(longestWaitMs / 1000)} s`,
    `quiet after ${Math.round(quiet.ms / 1000)} s: ${hasPassed(verdict) ? 'PASS' : 'FAIL'}`,
  ].join(', ');
}

/** What is wrong, one line each. */
export function problemLines({ violations, quiet }: Verdict): string[] {
  return [
    ...violations.map(({ kind, refundId, what }) => `${kind.toUpperCase()} ${refundId ?? ''} ${what}`),
    ...quiet.stuck.map(({ id, attempts }) => `STUCK ${id}, last outcome ${attempts[0]?.outcome ?? 'none'}`),
  ];
}
