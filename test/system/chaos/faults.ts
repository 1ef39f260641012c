import type { SandboxControl } from '../../sandbox/clients.ts';
import { FAULT_KINDS, type FaultKind, type Operation } from '../../sandbox/faults.ts';
import { PROCESSORS } from '../../sandbox/processors.ts';
import type { Random } from '../../support/random.ts';
import { latestApplyMs, longestWorkerFreezeMs } from './settings.ts';

/** `flush` empties Redis, `disconnect` ends every connection to PostgreSQL; the others are undone after a while. */
export type Action = 'kill' | 'stop' | 'freeze' | 'flush' | 'disconnect';

/** A fault, fully determined by the seed. A Redis that was killed is empty; a PostgreSQL has everything that was committed. */
export interface Fault {
  action: Action;
  target: string;
  forMs: number;
}

/** How often each is injected, what it breaks, and for how long at least and at most. */
const choices: readonly [weight: number, action: Action, kind: string, leastMs: number, mostMs: number][] = [
  [5, 'kill', 'worker', 100, 3_000],
  [1, 'stop', 'worker', 100, 3_000],
  [3, 'freeze', 'worker', 300, 5_000],
  [1, 'freeze', 'worker', longestWorkerFreezeMs, longestWorkerFreezeMs],
  [3, 'kill', 'api', 100, 3_000],
  [1, 'stop', 'api', 100, 3_000],
  [2, 'freeze', 'api', 300, 10_000],
  [3, 'flush', 'redis', 0, 0],
  [2, 'kill', 'redis', 0, 3_000],
  [2, 'freeze', 'redis', 300, 6_000],
  [2, 'disconnect', 'postgres', 0, 0],
  [1, 'stop', 'postgres', 0, 2_000],
  [1, 'kill', 'postgres', 0, 2_000],
  [1, 'freeze', 'postgres', 300, 4_000],
];

/** The kind of a target, without its number. */
const kindOf = (target: string) => target.replace(/-\d+$/, '');

/** Names a fault for counting, such as `kill worker`. */
export const nameOf = ({ action, target }: Fault) => `${action} ${kindOf(target)}`;

/** Plans the next fault of one of the targets, such as `worker-2`. */
export function planFault(random: Random, targets: readonly string[]): Fault {
  const possible = choices.flatMap((choice) => {
    const ofKind = targets.filter((target) => kindOf(target) === choice[2]);
    return ofKind.length === 0 ? [] : [[choice[0], { choice, ofKind }] as const];
  });
  const { choice, ofKind } = random.weigh(possible);
  const [, action, , leastMs, mostMs] = choice;
  return { action, target: random.pick(ofKind), forMs: random.between(leastMs, mostMs) };
}

/** Without refused credentials and held requests, which only people could end, and without errors of a test's own. */
const passingFaults = FAULT_KINDS.filter(
  (kind) => !['error-403', 'error-500-held', 'approval', 'error'].includes(kind),
);

/** The share of an operation's requests that meet a fault, all kinds together. */
const shares: Readonly<Record<Operation, number>> = {
  'transaction.get': 0.06,
  'refund.create': 0.25,
  'refund.get': 0.06,
  'refund.find': 0.12,
  'refund.list': 0.12,
  'refund.cancel': 0.15,
};

/**
 * The share of submissions that are cut off and applied later. There are more of them than of any other kind, because
 * they are what could make a lookup wrongly find nothing.
 */
const lateShare = 0.15;

/** Longer than the service's deadline for a call, so that the service gives up first. */
const holdMs = 3_000;

/** Arms every kind of fault on every operation of all processors, each with its own probability. */
export async function armProcessorFaults(control: SandboxControl, random: Random): Promise<void> {
  for (const processor of PROCESSORS) {
    const late = { processor, operation: 'refund.create', kind: 'reset-late-apply', times: null };
    await control.fault({ ...late, probability: lateShare, delayMs: latestApplyMs });
    for (const [operation, share] of Object.entries(shares)) {
      for (const kind of passingFaults) {
        const probability = (share / passingFaults.length) * (0.5 + random.next());
        const delayMs = delayOf(kind, random);
        await control.fault({ processor, operation, kind, times: null, probability, delayMs });
      }
    }
  }
}

function delayOf(kind: FaultKind, random: Random): number {
  if (kind === 'reset-late-apply') return random.between(500, latestApplyMs);
  return kind === 'delay' ? random.between(200, holdMs) : holdMs;
}
