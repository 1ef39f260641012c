import { setMaxListeners } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Deployment, deploy } from '../../support/faults/deployment.ts';
import type { Breakable } from '../../support/faults/service-process.ts';
import { OwnPostgres, OwnRedis } from '../../support/faults/stores.ts';
import { Random } from '../../support/random.ts';
import { addAccounts } from './accounts.ts';
import { FaultInjector } from './fault-injector.ts';
import { armProcessorFaults } from './faults.ts';
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

/** Runs two APIs and three workers under load and faults, waits until all is quiet, and compares all records. */
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
    await addAccounts(deployment.service);
    const stores = new Map<string, Breakable>([['postgres', postgres]]);
    if (redis !== null) stores.set('redis', redis);
    const verdict = await runOn(deployment, stores, withTime(options));
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

async function runOn(
  { service, startApi, startWorker }: Deployment,
  stores: ReadonlyMap<string, Breakable>,
  { seed, refunds, say }: ChaosOptions,
): Promise<Verdict> {
  const { sandbox: control, organization, deps } = service;
  await control.settings({ autoSettleMs, latencyMs });
  const [apis, workers] = await Promise.all([
    Promise.all(Array.from({ length: apiCount }, () => startApi())),
    Promise.all(Array.from({ length: workerCount }, () => startWorker())),
  ]);
  const processes = [...apis.map(({ process }) => process), ...workers];
  const targets = new Map([...processes.map((process) => [process.name, process] as const), ...stores]);
  const { test, live } = organization.keys;
  const keys = { test: test.plaintext, live: live.plaintext };
  const givingUp = new AbortController();
  const { signal } = givingUp;
  // Every waiting client listens to the signal.
  setMaxListeners(0, signal);
  const addresses = { apiUrls: apis.map(({ url }) => url), keys };
  const load = new Load({ addresses, control, random: randomFor(seed, 'load'), signal });
  const giveUp = () => givingUp.abort();
  const injector = new FaultInjector({ targets, random: randomFor(seed, 'faults'), say, giveUp });
  try {
    await armProcessorFaults(control, randomFor(seed, 'processors'));
    await load.run(refunds, () => injector.noteOrder());
    await injector.stop();
    await control.clearFaults();
    await Promise.all([
      ...processes.map((process) => process.ready()),
      ...apis.map(({ process, url }) => process.waitForUrl(`${url}/readyz`)),
    ]);
    say(`faults are over, ${load.acceptedCount} refunds are accepted`);
    const stuck = await untilQuiet(deps.db, load.concluded(), patienceMs);
    giveUp();
    await load.concluded();
    say(`quiet, ${stuck.length} refunds are stuck`);
    // No outage is a reason for a process to end.
    const exits = processes.flatMap(({ unexpectedExits }) => unexpectedExits);
    const violations = [
      ...(await findViolations(deps.db, control, load.logs)),
      ...exits.map((what) => ({ kind: 'wrong' as const, refundId: null, what })),
    ];
    const strikes = Object.entries(await control.strikes());
    const faults = new Map([
      ...injector.counts,
      ...strikes.map(([kind, times]) => [`processor ${kind}`, times] as const),
    ]);
    return { seed, acceptedCount: load.acceptedCount, faults, violations, stuck };
  } finally {
    giveUp();
  }
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
