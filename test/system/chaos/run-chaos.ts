import { setMaxListeners } from 'node:events';
import { openDatabase } from '../../../shared/platform/database.ts';
import { Random } from '../../support/random.ts';
import type { QueueBackend } from '../../support/stores/backends.ts';
import { type Deployment, deploy } from './deployment.ts';
import { Diary } from './diary.ts';
import { FaultInjector } from './fault-injector.ts';
import { planFaults } from './fault-plan.ts';
import { judge } from './judge.ts';
import { Load } from './load.ts';
import { armProcessorFaults } from './processor-faults.ts';
import { untilQuiet } from './quiet.ts';
import { hasPassed, type Verdict } from './verdict.ts';

/** Where the queues may be. */
export const queueNames: readonly QueueBackend['name'][] = ['redis', 'postgres'];

export interface ChaosOptions {
  seed: number;
  /** How many refunds have to be accepted. */
  refunds: number;
  queues: QueueBackend['name'];
  /** Where the service is compiled. */
  compiledFolder: string;
  /** Takes what goes on, a line at a time. */
  say: (line: string) => void;
}

export interface ChaosReport {
  verdict: Verdict;
  /** Folders with data and logs; none when nothing is wrong. */
  keptIn: string[];
}

/** Longer than a lock lasts that a killed API left on a key, and longer than any lease. */
const patienceMs = 120_000;

/** Runs the service under load and faults, lets it come to rest, and holds everybody's books against each other. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const deployment = await deploy(options.queues, options.compiledFolder);
  let isFine = false;
  try {
    const verdict = await runOn(deployment, withTime(options));
    isFine = hasPassed(verdict);
    return { verdict, keptIn: isFine ? [] : [deployment.folder, deployment.postgres.folder] };
  } finally {
    await deployment.close({ keepData: !isFine });
  }
}

async function runOn(deployment: Deployment, options: ChaosOptions): Promise<Verdict> {
  const { seed, say } = options;
  const diary = new Diary();
  const givingUp = new AbortController();
  // Every client that waits listens to it.
  setMaxListeners(0, givingUp.signal);
  const load = new Load({ deployment, diary, random: randomFor(seed, 'load'), signal: givingUp.signal });
  const db = openDatabase(deployment.postgres.url, { poolSize: 2 });
  try {
    const faults = await disturb(deployment, options, load);
    say(`faults are over, ${diary.acceptedCount} refunds are accepted`);
    const quiet = await untilQuiet(db, load.concluded(), patienceMs);
    givingUp.abort();
    await load.concluded();
    say(`at rest, ${quiet.stuck.length} refunds are stuck`);
    const violations = await judge(deployment, db, diary);
    const longestWaitMs = Math.max(...diary.pages.map((page) => page.longestWaitMs));
    return { seed, acceptedCount: diary.acceptedCount, faults, violations, quiet, longestWaitMs };
  } finally {
    givingUp.abort();
    await db.$disconnect();
  }
}

/** Breaks things for as long as orders come in, and mends them; answers how often each was done. */
async function disturb(
  deployment: Deployment,
  { seed, refunds, queues, say }: ChaosOptions,
  load: Load,
): Promise<Map<string, number>> {
  const { control, apis, workers } = deployment;
  await armProcessorFaults(control, randomFor(seed, 'processors'));
  const plan = planFaults(randomFor(seed, 'faults'), {
    apis: apis.map(({ name }) => name),
    workers: workers.map(({ name }) => name),
    redis: queues === 'redis',
  });
  const injector = new FaultInjector(deployment, plan, say);
  await Promise.race([load.run(refunds, () => injector.noteOrder()), injector.failed]);
  await injector.stop();
  await control.clearFaults();
  await deployment.ready();
  const strikes = Object.entries(await control.strikes());
  return new Map([
    ...injector.counts,
    ...strikes.map(([kind, times]) => [`processor ${kind}`, times] as const),
  ]);
}

/** Numbers of their own for each part, so that the one does not depend on how often another has drawn. */
function randomFor(seed: number, part: 'load' | 'faults' | 'processors'): Random {
  return new Random(seed * 3 + ['load', 'faults', 'processors'].indexOf(part));
}

function withTime(options: ChaosOptions): ChaosOptions {
  const startedAt = performance.now();
  const seconds = () => ((performance.now() - startedAt) / 1000).toFixed(1).padStart(6);
  return { ...options, say: (line) => options.say(`${seconds()} s  ${line}`) };
}
