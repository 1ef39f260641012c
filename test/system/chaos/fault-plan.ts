import { FAULT_KINDS, type FaultKind, OPERATIONS, type Operation } from '../../sandbox/faults.ts';
import type { Random } from '../../support/random.ts';
import { longestSandboxFreezeMs, longestWorkerFreezeMs } from './settings.ts';

/** What is done to the service or its surroundings; all of it follows from the seed. */
export type Fault =
  /** `kill -9`, or SIGTERM, and started again after `forMs`. */
  | { action: 'kill' | 'terminate'; target: string; forMs: number }
  /** SIGSTOP, and SIGCONT after `forMs`. */
  | { action: 'freeze'; target: string; forMs: number }
  | { action: 'flush'; target: 'redis' }
  /** Gone for `forMs`; Redis comes back empty, PostgreSQL with everything that was committed. */
  | { action: 'restart' | 'restart-immediately'; target: 'redis' | 'postgres'; forMs: number }
  /** Every connection to PostgreSQL is ended. */
  | { action: 'disconnect'; target: 'postgres' }
  | { action: 'storm'; target: 'processors'; storm: Storm };

/** The same fault on the next requests of a kind. */
export interface Storm {
  processor: string;
  operation: Operation | '*';
  kind: FaultKind;
  times: number;
}

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

/** Those that end by themselves: refused credentials would wait for a person, who is not part of a run. */
export const passingFaults = FAULT_KINDS.filter((kind) => kind !== 'error-403');

const processors = ['stripe', 'braintree'] as const;

/** The faults of a run, without end: the same seed gives the same ones in the same order. */
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
    [1, () => ({ action: 'terminate', target: random.pick(workers), forMs: restartMs() })],
    [4, () => ({ action: 'freeze', target: random.pick(workers), forMs: freezeWorker() })],
    [3, () => ({ action: 'kill', target: random.pick(apis), forMs: restartMs() })],
    [1, () => ({ action: 'terminate', target: random.pick(apis), forMs: restartMs() })],
    [2, () => ({ action: 'freeze', target: random.pick(apis), forMs: random.between(300, 10_000) })],
    ...(targets.redis ? redisChoices(random) : []),
    ...postgresChoices(random),
    [1, () => ({ action: 'freeze', target: 'sandbox', forMs: random.between(300, longestSandboxFreezeMs) })],
    [4, () => ({ action: 'storm', target: 'processors', storm: planStorm(random) })],
  ];
}

function redisChoices(random: Random): Choice[] {
  return [
    [3, () => ({ action: 'flush', target: 'redis' })],
    [2, () => ({ action: 'restart', target: 'redis', forMs: random.between(0, 3_000) })],
    [2, () => ({ action: 'freeze', target: 'redis', forMs: random.between(300, 6_000) })],
  ];
}

function postgresChoices(random: Random): Choice[] {
  return [
    [2, () => ({ action: 'disconnect', target: 'postgres' })],
    [1, () => ({ action: 'restart', target: 'postgres', forMs: random.between(0, 2_000) })],
    [1, () => ({ action: 'restart-immediately', target: 'postgres', forMs: random.between(0, 2_000) })],
    [1, () => ({ action: 'freeze', target: 'postgres', forMs: random.between(300, 4_000) })],
  ];
}

function planStorm(random: Random): Storm {
  return {
    processor: random.pick(processors),
    operation: random.chance(0.4) ? 'refund.create' : random.pick([...OPERATIONS, '*']),
    kind: random.pick(passingFaults),
    times: random.between(3, 15),
  };
}

/** A fault in a word or two, for counting: `kill worker`. */
export function nameOf({ action, target }: Fault): string {
  return `${action} ${target.replace(/-\d+$/, '')}`;
}
