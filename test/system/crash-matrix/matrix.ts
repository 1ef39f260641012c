import { basename } from 'node:path';
import { readFunctions } from '../../../prisma/migrations-folder.ts';
import { startService, type TestOrganization, type TestService } from '../../support/service.ts';
import { postgresQueues } from '../../support/stores/backends.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type Combination, crossed, flowNames, type Run, titleOf } from './combinations.ts';
import { flows } from './flows.ts';
import type { Tampering } from './killable-dependencies.ts';
import { settleDelayMs } from './passing-time.ts';
import { type Played, play, traceOf } from './play.ts';
import type { Lane } from './stage.ts';

/** Combinations that are played at the same time. */
const laneCount = 12;
/** Combinations between two words of how far it is. */
const toldEvery = 500;
/** A combination that was disturbed before its point is played again, so often at most. */
const mostTries = 3;

/** What a number of combinations came to. */
export interface Result {
  combinations: number;
  checks: number;
  /** Titles of combinations whose point was not come by: on a busy machine a run may take another way. */
  missed: string[];
  /** Each with the combination that it was found in. */
  violations: string[];
  elapsedMs: number;
}

export interface PlayOptions {
  tampering?: Tampering;
  /** Is told now and then how far it is. */
  tell?: (soFar: Result) => void;
}

/** The service that the matrix is played on, with an organization for each of its lanes. */
export interface Matrix {
  service: TestService;
  organizations: readonly TestOrganization[];
}

/** Starts it, with real pauses and delays, because no time is waited for. */
export async function startMatrix(databaseUrl: string): Promise<Matrix> {
  const service = await startService({
    databaseUrl,
    backend: postgresQueues,
    workers: 0,
    settings: {
      DATABASE_POOL_SIZE: 40,
      // Longer than a job takes, so that nothing becomes due but by the time that is let pass.
      RETRY_BASE_MS: 20_000,
      RETRY_CAP_MS: 900_000,
      SETTLEMENT_BASE_MS: 20_000,
      SETTLEMENT_CAP_MS: 3_600_000,
      LOOKUP_SETTLE_DELAY_MS: settleDelayMs,
      PROCESSOR_TIMEOUT_MS: 20_000,
      TRANSACTION_READ_TIMEOUT_MS: 10_000,
    },
    // No jitter: the same run comes by the same points.
    overrides: { random: () => 0 },
  });
  await service.sandbox.settings({ autoSettleMs: null, latencyMs: 0 });
  // A pool that is opened by everybody at once takes longer than a statement may wait for its connection.
  await waitFor(
    'the pool to be open',
    async () => {
      await Promise.all(
        Array.from({ length: laneCount }, () => service.deps.db.$queryRaw`SELECT pg_sleep(0.1)::text`),
      );
      return true;
    },
    { timeoutMs: 30_000 },
  );
  const organizations: TestOrganization[] = [];
  while (organizations.length < laneCount) {
    organizations.push(await service.addOrganization(`Lane ${organizations.length}`));
  }
  return { service, organizations };
}

/** Every run of a flow with one of its answers. */
function allRuns(): Run[] {
  return flowNames.flatMap((flow) =>
    flows[flow].processors.flatMap((processor) =>
      flows[flow].answers.map((answer) => ({ flow, processor, answer })),
    ),
  );
}

/** The points that each run comes by. */
export async function traces(matrix: Matrix): Promise<Map<Run, string[]>> {
  const runs = allRuns();
  const found = new Map<Run, string[]>(runs.map((run) => [run, []]));
  await inLanes(matrix, {}, runs, async (lane, run) => {
    found.set(run, await traceOf(lane, run));
  });
  return found;
}

/** Every combination there is, in the order of the runs. */
export function allCombinations(found: ReadonlyMap<Run, readonly string[]>): Combination[] {
  return [...found].flatMap(([run, trace]) => crossed(run, trace));
}

/** Plays combinations, some at a time. */
export async function playAll(
  matrix: Matrix,
  combinations: readonly Combination[],
  { tampering = {}, tell = () => {} }: PlayOptions = {},
): Promise<Result> {
  const since = performance.now();
  await replaceFunctions(matrix, tampering);
  const result: Result = { combinations: 0, checks: 0, missed: [], violations: [], elapsedMs: 0 };
  await inLanes(matrix, tampering, combinations, async (lane, combination) => {
    const { wasReached, checks, violations } = await playUntilReached(lane, combination);
    if (!wasReached) result.missed.push(titleOf(combination));
    result.combinations += 1;
    result.checks += checks;
    result.elapsedMs = Math.round(performance.now() - since);
    result.violations.push(...violations.map((violation) => `${titleOf(combination)}\n    ${violation}`));
    if (result.combinations % toldEvery === 0) tell(result);
  });
  await replaceFunctions(matrix, {});
  return result;
}

/** Puts functions of the core into the database, as they are but for what is tampered with. */
async function replaceFunctions({ service }: Matrix, { sql: tampered = {} }: Tampering): Promise<void> {
  for (const { name, sql } of readFunctions()) {
    const change = tampered[basename(name, '.sql')] ?? ((text: string) => text);
    const changed = change(sql);
    if (Object.hasOwn(tampered, basename(name, '.sql')) && changed === sql)
      throw new Error(`${name} is as it was`);
    await service.deps.db.$executeRawUnsafe(changed);
  }
}

async function playUntilReached(lane: Lane, combination: Combination): Promise<Played> {
  const tries: Played[] = [];
  for (let count = 0; count < mostTries; count += 1) {
    const played = await play(lane, combination);
    tries.push(played);
    if (played.wasReached || played.violations.length > 0) break;
  }
  const reached = tries.some(({ wasReached }) => wasReached);
  return {
    wasReached: reached,
    checks: tries.reduce((sum, { checks }) => sum + checks, 0),
    violations: tries.flatMap(({ violations }) => violations),
  };
}

async function inLanes<T>(
  { service, organizations }: Matrix,
  tampering: Tampering,
  items: readonly T[],
  work: (lane: Lane, item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const wakeUps = new Set<string>();
  const playOneByOne = async (organization: TestOrganization) => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      await work({ service, organization, wakeUps, tampering }, item);
    }
  };
  await Promise.all(organizations.map(playOneByOne));
}
