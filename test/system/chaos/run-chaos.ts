import { setMaxListeners } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiProcess, type Deployment, deploy } from '../../support/faults/deployment.ts';
import type { ServiceProcess } from '../../support/faults/service-process.ts';
import { OwnPostgres, OwnRedis } from '../../support/faults/stores.ts';
import { Random } from '../../support/random.ts';
import { FaultInjector } from './fault-injector.ts';
import { armProcessorFaults, planFaults } from './faults.ts';
import { Load } from './load.ts';
import { chaosSettings } from './settings.ts';
import { findViolations, hasPassed, untilQuiet, type Verdict } from './verdict.ts';

export type QueueName = 'redis' | 'postgres';

export interface ChaosOptions {
  seed: number;
  /** How many refunds have to be accepted. */
  refunds: number;
  queues: QueueName;
  /** Where the service is compiled. */
  compiledFolder: string;
  /** Takes progress, a line at a time. */
  say: (line: string) => void;
}

export interface ChaosReport {
  verdict: Verdict;
  /** Folders with data and logs; none when the run has passed. */
  keptIn: string[];
}

const apiCount = 2;
const workerCount = 3;

/** How long a refund is open at its processor: long enough to be cancelled there. */
const autoSettleMs = 400;

/** How long every call takes at a processor: long enough for a worker to be killed during one. */
const latencyMs = 40;

/** How long refunds may take to end after the last fault: longer than any lease. */
const patienceMs = 120_000;

/** Two APIs and three workers with their stores. */
interface Stage {
  deployment: Deployment;
  postgres: OwnPostgres;
  redis: OwnRedis | null;
  apis: ApiProcess[];
  processes: ServiceProcess[];
}

/** Runs the service under load and faults, waits until it is quiet, and compares all records. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const logFolder = mkdtempSync(join(tmpdir(), 'refund-chaos-'));
  const postgres = await OwnPostgres.open({ durable: true });
  const redis = options.queues === 'redis' ? await OwnRedis.prepare() : null;
  await redis?.start();
  const deployment = await deploy({
    databaseUrl: postgres.url,
    backend: { name: options.queues, redisUrl: redis?.url ?? null },
    compiledFolder: options.compiledFolder,
    settings: chaosSettings,
    logFolder,
  });
  let isFine = false;
  try {
    await deployment.service.sandbox.settings({ autoSettleMs, latencyMs });
    const [apis, workers] = await Promise.all([
      Promise.all(Array.from({ length: apiCount }, () => deployment.startApi())),
      Promise.all(Array.from({ length: workerCount }, () => deployment.startWorker())),
    ]);
    const processes = [...apis.map(({ process }) => process), ...workers];
    const verdict = await runOn({ deployment, postgres, redis, apis, processes }, withTime(options));
    isFine = hasPassed(verdict);
    return { verdict, keptIn: isFine ? [] : [logFolder, postgres.folder] };
  } finally {
    await deployment.close();
    await redis?.kill();
    if (isFine) {
      await postgres.remove();
      rmSync(logFolder, { recursive: true, force: true });
    } else {
      await postgres.stop();
    }
  }
}

async function runOn(stage: Stage, options: ChaosOptions): Promise<Verdict> {
  const { seed, say } = options;
  const { service } = stage.deployment;
  const { db } = service.deps;
  const control = service.sandbox;
  const { test, live } = service.organization.keys;
  const addresses = {
    apiUrls: stage.apis.map(({ url }) => url),
    keys: { test: test.plaintext, live: live.plaintext },
  };
  const givingUp = new AbortController();
  // Every waiting client listens to the signal.
  setMaxListeners(0, givingUp.signal);
  const load = new Load({ addresses, control, random: randomFor(seed, 'load'), signal: givingUp.signal });
  try {
    const faults = await injectFaults(stage, options, load);
    say(`faults are over, ${load.acceptedCount} refunds are accepted`);
    const stuck = await untilQuiet(db, load.concluded(), patienceMs);
    givingUp.abort();
    await load.concluded();
    say(`quiet, ${stuck.length} refunds are stuck`);
    const violations = [
      ...(await findViolations(db, control, load.logs)),
      // No outage is a reason for a process to end.
      ...stage.processes
        .flatMap(({ unexpectedExits }) => unexpectedExits)
        .map((what) => ({ kind: 'wrong' as const, refundId: null, what })),
    ];
    return { seed, acceptedCount: load.acceptedCount, faults, violations, stuck };
  } finally {
    givingUp.abort();
  }
}

/**
 * Injects faults for as long as orders come in, then undoes them.
 * @returns how often each was injected.
 */
async function injectFaults(
  { deployment, postgres, redis, apis, processes }: Stage,
  { seed, refunds, say }: ChaosOptions,
  load: Load,
): Promise<Map<string, number>> {
  const control = deployment.service.sandbox;
  await armProcessorFaults(control, randomFor(seed, 'processors'));
  const names = processes.map(({ name }) => name);
  const plan = planFaults(randomFor(seed, 'faults'), {
    apis: names.filter((name) => name.startsWith('api')),
    workers: names.filter((name) => name.startsWith('worker')),
    redis: redis !== null,
  });
  const byName = new Map(processes.map((process) => [process.name, process]));
  const injector = new FaultInjector({ postgres, redis, processes: byName }, plan, say);
  await Promise.race([load.run(refunds, () => injector.noteOrder()), injector.failed]);
  await injector.stop();
  await control.clearFaults();
  await Promise.all([
    ...processes.map((process) => process.ready()),
    ...apis.map(({ process, url }) => process.waitForUrl(`${url}/readyz`)),
  ]);
  const strikes = Object.entries(await control.strikes());
  return new Map([
    ...injector.counts,
    ...strikes.map(([kind, times]) => [`processor ${kind}`, times] as const),
  ]);
}

/** A sequence for each part, so that none depends on how often another has drawn. */
function randomFor(seed: number, part: 'load' | 'faults' | 'processors'): Random {
  return new Random(seed * 3 + ['load', 'faults', 'processors'].indexOf(part));
}

function withTime(options: ChaosOptions): ChaosOptions {
  const startedAt = performance.now();
  const seconds = () => ((performance.now() - startedAt) / 1000).toFixed(1).padStart(6);
  return { ...options, say: (line) => options.say(`${seconds()} s  ${line}`) };
}
