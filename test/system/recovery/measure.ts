import { setTimeout as sleep } from 'node:timers/promises';
import { loadSettings } from '../../../shared/platform/config.ts';
import { type Deployment, deploy } from '../../support/faults/deployment.ts';
import {
  accept,
  refundOfNewPayment,
  untilAtProcessor,
  untilCompleted,
} from '../../support/faults/refunds.ts';
import { OwnPostgres, OwnRedis } from '../../support/faults/stores.ts';
import { recordsOf } from '../../support/refunds/refund-records.ts';
import { waitFor } from '../../support/wait-for.ts';

/** What breaks, as a line of the table. */
export type Scenario = string;

const processors = ['stripe', 'braintree'] as const;

/** Open refunds when a store breaks: more than workers handle at once. */
const backlog = 40;

const patience = { timeoutMs: 180_000 };

interface Bench {
  processes: Deployment;
  postgres: OwnPostgres;
  redis: OwnRedis | null;
  report(scenario: Scenario, ms: number): void;
}

/**
 * Breaks one thing after the other while refunds are open.
 * @param compiledFolder where the service is compiled.
 * @returns for every scenario the milliseconds until the last refund was completed.
 */
export async function measureRecovery(
  queues: 'postgres' | 'redis',
  compiledFolder: string,
): Promise<Map<Scenario, number>> {
  const measured = new Map<Scenario, number>();
  const redis = queues === 'redis' ? await OwnRedis.prepare() : null;
  await redis?.start();
  const postgres = await OwnPostgres.open();
  const backend = { name: queues, redisUrl: redis?.url ?? null };
  const { DATABASE_URL: _none, ENCRYPTION_KEY: _neither, ...production } = loadSettings({});
  const places = {
    REDIS_URL: backend.redisUrl,
    QUEUE_PREFIX: `recovery-${process.pid}`,
    LOG_LEVEL: 'silent' as const,
    LOOKUP_SETTLE_DELAY_MS: undefined,
    // The API shares its event loop with the sandbox and this program.
    MAX_EVENT_LOOP_DELAY_MS: 0,
  };
  const processes = await deploy({
    databaseUrl: postgres.url,
    backend,
    compiledFolder,
    settings: { ...production, ...places },
  });
  const report = (scenario: Scenario, ms: number) => {
    measured.set(scenario, ms);
    console.log(`queues on ${queues}: ${scenario}: ${ms} ms`);
  };
  try {
    await measureAll({ processes, postgres, redis, report });
  } finally {
    await processes.close();
    await postgres.remove();
    await redis?.kill();
  }
  return measured;
}

async function measureAll(bench: Bench): Promise<void> {
  await workerKilled(bench);
  const { processes, postgres, redis, report } = bench;
  await apiKilled(bench);
  report('nothing breaks', await backlogUntilCompleted(processes, async () => {}));
  if (redis !== null) {
    report('Redis is emptied', await backlogUntilCompleted(processes, () => redis.flush()));
    const restart = async () => {
      await redis.kill();
      await redis.start();
    };
    report('Redis is killed and started again, empty', await backlogUntilCompleted(processes, restart));
  }
  const restart = async () => {
    await postgres.stop();
    await postgres.start();
  };
  report('PostgreSQL is restarted', await backlogUntilCompleted(processes, restart));
}

/** Leaves a worker running for the next scenarios. */
async function workerKilled({ processes, report }: Bench): Promise<void> {
  const { service, startWorker } = processes;
  const doomed = await startWorker();
  const held: { scenario: Scenario; id: string }[] = [];
  for (const [kind, what] of [
    ['timeout-after-apply', 'applied'],
    ['timeout', 'not applied'],
  ] as const) {
    for (const processor of processors) {
      await service.sandbox.fault({ processor, operation: 'refund.create', kind });
      const id = await accept(service, processor);
      await untilAtProcessor(service, [id]);
      held.push({ scenario: `the worker is killed, the refund was ${what} at ${processor}`, id });
    }
  }
  const killing = doomed.kill();
  const since = performance.now();
  await Promise.all([killing, startWorker()]);
  // A worker that was killed before its call has left its fault armed.
  await service.sandbox.clearFaults();
  await Promise.all(
    held.map(async ({ scenario, id }) => {
      await untilCompleted(service, [id], patience);
      report(scenario, Math.round(performance.now() - since));
    }),
  );
}

async function apiKilled({ processes, report }: Bench): Promise<void> {
  const { service, startApi } = processes;
  const api = await startApi();
  await api.process.waitForUrl(`${api.url}/readyz`);
  await service.sandbox.fault({
    processor: 'stripe',
    operation: 'refund.create',
    kind: 'delay',
    delayMs: 1_000,
  });
  const body = await refundOfNewPayment(service, 'stripe');
  const cutOff = api.post('/v1/refunds', body).then(
    (answer) => console.log('The API answered before it was killed:', answer),
    () => {},
  );
  const { transactionId } = body;
  const refund = await waitFor('the refund to be on record', () =>
    service.deps.db.refund.findFirst({ where: { transactionId } }),
  );
  await api.process.kill();
  report('the API is killed while a client waits', await untilCompleted(service, [refund.id], patience));
  await cutOff;
}

/** Creates a backlog and breaks something once the first of it was sent. */
async function backlogUntilCompleted({ service }: Deployment, breakIt: () => Promise<void>): Promise<number> {
  await service.sandbox.settings({ latencyMs: 300 });
  const accepting = Array.from({ length: backlog }, (_none, index) =>
    accept(service, processors[index % processors.length] ?? 'stripe'),
  );
  const ids = await Promise.all(accepting);
  await waitFor('the first refunds to be sent', async () => {
    const sent = (await recordsOf(service.deps.db, { id: { in: ids } })).filter(
      ({ attemptCount }) => attemptCount > 0,
    );
    return sent.length > 5;
  });
  const since = performance.now();
  await breakIt();
  await untilCompleted(service, ids, patience);
  const ms = Math.round(performance.now() - since);
  await service.sandbox.settings({ latencyMs: 0 });
  // The next scenario starts with an idle service.
  await sleep(1_000);
  return ms;
}
