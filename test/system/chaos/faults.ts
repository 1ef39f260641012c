import type { SandboxControl } from '../../sandbox/clients.ts';
import { FAULT_KINDS, type FaultKind, type Operation } from '../../sandbox/faults.ts';
import { PROCESSORS } from '../../sandbox/processors.ts';
import type { Random } from '../../support/random.ts';
import { latestApplyMs, longestWorkerFreezeMs } from './settings.ts';

/** A fault, fully determined by the seed. */
export type Fault =
  /** Undone after `forMs`. A Redis that was killed is empty; a PostgreSQL has everything that was committed. */
  | { action: 'kill' | 'stop' | 'freeze'; target: string; forMs: number }
  | { action: 'flush'; target: 'redis' }
  /** Ends every connection to PostgreSQL. */
  | { action: 'disconnect'; target: 'postgres' };

export interface PlannedFault {
  /** How many orders come in between the one before and this one. */
  afterOrders: number;
  fault: Fault;
}

export interface Targets {
  apis: readonly string[];
  workers: readonly string[];
  /** False when the queues are in PostgreSQL. */
  redis: boolean;
}

/** Without refused credentials, which only an operator could fix. */
const passingFaults = FAULT_KINDS.filter((kind) => kind !== 'error-403');

/** Plans faults without end: the same seed gives the same faults in the same order. */
export function* planFaults(random: Random, targets: Targets): Generator<PlannedFault, never> {
  const choices = faultChoices(random, targets);
  for (;;) {
    const afterOrders = random.between(1, 4);
    yield { afterOrders, fault: random.weigh(choices)() };
  }
}

type Choice = readonly [weight: number, plan: () => Fault];

function faultChoices(random: Random, targets: Targets): Choice[] {
  const { apis, workers } = targets;
  const restartMs = () => random.between(100, 3_000);
  const freezeWorker = () => (random.chance(0.3) ? longestWorkerFreezeMs : random.between(300, 5_000));
  return [
    [5, () => ({ action: 'kill', target: random.pick(workers), forMs: restartMs() })],
    [1, () => ({ action: 'stop', target: random.pick(workers), forMs: restartMs() })],
    [4, () => ({ action: 'freeze', target: random.pick(workers), forMs: freezeWorker() })],
    [3, () => ({ action: 'kill', target: random.pick(apis), forMs: restartMs() })],
    [1, () => ({ action: 'stop', target: random.pick(apis), forMs: restartMs() })],
    [2, () => ({ action: 'freeze', target: random.pick(apis), forMs: random.between(300, 10_000) })],
    ...(targets.redis ? redisChoices(random) : []),
    ...postgresChoices(random),
  ];
}

function redisChoices(random: Random): Choice[] {
  return [
    [3, () => ({ action: 'flush', target: 'redis' })],
    [2, () => ({ action: 'kill', target: 'redis', forMs: random.between(0, 3_000) })],
    [2, () => ({ action: 'freeze', target: 'redis', forMs: random.between(300, 6_000) })],
  ];
}

function postgresChoices(random: Random): Choice[] {
  return [
    [2, () => ({ action: 'disconnect', target: 'postgres' })],
    [1, () => ({ action: 'stop', target: 'postgres', forMs: random.between(0, 2_000) })],
    [1, () => ({ action: 'kill', target: 'postgres', forMs: random.between(0, 2_000) })],
    [1, () => ({ action: 'freeze', target: 'postgres', forMs: random.between(300, 4_000) })],
  ];
}

/** Names a fault for counting, such as `kill worker`. */
export function nameOf({ action, target }: Fault): string {
  return `${action} ${target.replace(/-\d+$/, '')}`;
}

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
