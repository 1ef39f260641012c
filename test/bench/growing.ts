import { createApiKey } from '#shared/organizations/api-keys.ts';
import { stepsOf } from '../support/plans/steps.ts';
import { startService as startHere, type TestService } from '../support/service.ts';
import { query } from '../support/stores/database-client.ts';
import { addEndpoint } from '../support/webhooks/endpoints.ts';
import { grownSteps } from './grown-steps.ts';
import { measureLoads, runRequests } from './measure.ts';
import { fewRefunds } from './options.ts';
import { type Place, type ServicePipeline, startService } from './pipelines.ts';
import type { LoadId } from './requests.ts';
import { type Conditions, loadsFor, number, percentile, table, titleOf } from './results.ts';

// What becomes slower with the number of refunds: the service with many refunds beside itself with few.

/** The same service, with few and with many refunds. */
type Sizes<T> = Record<'small' | 'large', T>;

type Say = (line: string) => void;

/** How often each step is repeated, after once that does not count, unless that takes too long. */
const repeats = 30;
const longestMs = 8_000;

/** @returns tables as Markdown. */
export async function measureGrowing(place: Place, conditions: Conditions, say: Say): Promise<string> {
  const small = await startService(place, { name: 'small', preload: fewRefunds });
  const large = await startService(place, { name: 'large' });
  return await compareSizes({ small, large }, conditions, say);
}

async function compareSizes(
  pipelines: Sizes<ServicePipeline>,
  conditions: Conditions,
  say: Say,
): Promise<string> {
  const sizes = await tableSizes(pipelines.large.databaseUrl);
  const loads = loadsFor(['create', 'key', 'new', 'wait', 'get', 'list']);
  const measured = await measureLoads({
    ...{ pipelines, loads, ...conditions, say },
    run: (name, load, seconds) => runRequests(pipelines[name], load, seconds),
  });
  const requests = [...measured].map(([load, { small, large }]) =>
    lineOf(titleOf(load as LoadId), { small: small.latencies, large: large.latencies }),
  );
  say(table(head, requests));
  const steps = await measureSteps(pipelines, say);
  return `${table(head, [...requests, ...steps])}\n\n${sizes}`;
}

const head = ['ms', 'few p50', 'few p99', 'many p50', 'many p99', 'p50, many / few'];

function lineOf(title: string, { small, large }: Sizes<readonly number[]>): string[] {
  const percentiles = [small, large].flatMap((times) => [percentile(times, 0.5), percentile(times, 0.99)]);
  const ratio = (percentiles[2] ?? 0) / (percentiles[0] ?? 0);
  return [title, ...percentiles.map((ms) => number(ms, 1)), number(ratio, 2)];
}

/** Everything that the service does with the database, one after the other, on both in turn. */
async function measureSteps(pipelines: Sizes<ServicePipeline>, say: Say): Promise<string[][]> {
  const opened = { small: await openSteps(pipelines.small), large: await openSteps(pipelines.large) };
  const times = new Map(
    Object.keys(opened.small.steps).map((name) => [name, { small: [] as number[], large: [] as number[] }]),
  );
  for (let round = 0; round <= repeats; round += 1) {
    say(`steps, round ${round} of ${repeats}`);
    for (const [name, results] of times) {
      if (results.large.reduce((total, ms) => total + ms, 0) > longestMs) continue;
      for (const size of round % 2 === 0 ? (['small', 'large'] as const) : (['large', 'small'] as const)) {
        const startedAt = performance.now();
        await opened[size].steps[name]?.();
        if (round > 0) results[size].push(performance.now() - startedAt);
        else say(`${name}, ${size}: ${number(performance.now() - startedAt, 1)} ms`);
      }
    }
  }
  await opened.small.service.close();
  await opened.large.service.close();
  return [...times].map(([name, results]) => lineOf(name, results));
}

/** The steps on the database of a pipeline, whose worker is stopped, in this process. */
async function openSteps(pipeline: ServicePipeline) {
  const { databaseUrl, organizationId, encryptionKey, key, sandbox } = pipeline;
  await pipeline.worker.stop();
  const here = await startHere({
    ...{ databaseUrl, serviceUrl: databaseUrl, backend: { name: 'postgres', redisUrl: null }, workers: 0 },
    settings: { ENCRYPTION_KEY: encryptionKey, CREATE_WAIT_MS: 0 },
  });
  const service: TestService = {
    ...here,
    ...{ sandbox: sandbox.control, sandboxUrl: sandbox.url },
    organization: { ...here.organization, id: organizationId },
    call: (method, url, options) => here.call(method, url, { key, ...options }),
  };
  const { id: endpointId } = await addEndpoint(service, { url: 'http://127.0.0.1:1/' });
  const { plaintext: agentKey } = await createApiKey(service.deps, {
    ...{ organizationId, environment: 'test', actor: 'bench' },
    agentLimits: { currency: 'usd', maxPerDay: 1_000_000n },
  });
  const limited = Object.entries(stepsOf(service, endpointId, agentKey, true));
  const usual = limited.map(([name, step]) => [name, typeof step === 'function' ? step : step.run] as const);
  return { service, steps: { ...Object.fromEntries(usual), ...(await grownSteps(service)) } };
}

/** The tables with their sizes. */
async function tableSizes(databaseUrl: string): Promise<string> {
  const rows = await query(
    databaseUrl,
    `select relname, reltuples::float8 as rows, pg_table_size(oid)::float8 as data, pg_indexes_size(oid)::float8 as indexes,
       (select reltuples from pg_class where relname = 'refund')::float8 as refunds
     from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace and pg_total_relation_size(oid) > 1e6
     order by pg_total_relation_size(oid) desc`,
  );
  return table(
    ['table', 'rows', 'rows, MB', 'indexes, MB', 'bytes per refund'],
    rows.map(({ relname, rows, data, indexes, refunds }) => [
      ...[`\`${relname}\``, number(rows), number(data / 1e6), number(indexes / 1e6)],
      number((data + indexes) / refunds),
    ]),
  );
}
