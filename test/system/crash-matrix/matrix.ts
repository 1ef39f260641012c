import { basename } from 'node:path';
import { readFunctions } from '#prisma/migrations-folder.ts';
import { startService, type TestOrganization, type TestService } from '../../support/service.ts';
import { postgresQueues } from '../../support/stores/backends.ts';
import { waitFor } from '../../support/wait-for.ts';
import { answersOfStripe, type Combination, crossed, flowNames, type Run, titleOf } from './combinations.ts';
import { flows } from './flows.ts';
import type { Tampering } from './killable-dependencies.ts';
import { type Played, play, traceOf } from './play.ts';
import { type Lane, settleDelayMs } from './stage.ts';

/** Combinations that are played at the same time. */
const laneCount = 12;
/** How often a run that failed, and a combination that missed its point, is played. */
const mostTries = 3;

/** The result of several combinations. */
export interface Result {
  combinations: number;
  /** Titles of combinations whose point was not reached, because the run went another way on a busy machine. */
  missed: string[];
  /** Each with the combination that it was found in. */
  violations: string[];
  elapsedMs: number;
}

/** The service, with an organization for each lane. */
export interface Matrix {
  service: TestService;
  organizations: readonly TestOrganization[];
}

/** Starts the service with the pauses of production, because the matrix moves times instead of waiting. */
export async function startMatrix(databaseUrl: string): Promise<Matrix> {
  const service = await startService({
    databaseUrl,
    backend: postgresQueues,
    workers: 0,
    settings: {
      DATABASE_POOL_SIZE: 40,
      // Longer than a job takes, so that refunds become due only when the matrix lets time pass.
      RETRY_BASE_MS: 20_000,
      RETRY_CAP_MS: 900_000,
      SETTLEMENT_BASE_MS: 20_000,
      SETTLEMENT_CAP_MS: 3_600_000,
      LOOKUP_SETTLE_DELAY_MS: settleDelayMs,
      PROCESSOR_TIMEOUT_MS: 20_000,
      TRANSACTION_READ_TIMEOUT_MS: 10_000,
    },
    // No jitter, so that the same run reaches the same points.
    overrides: { random: () => 0 },
  });
  await service.sandbox.settings({ autoSettleMs: null, latencyMs: 0 });
  // Opening all connections at once takes longer than a statement may wait for its connection.
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
      flows[flow].answers
        .filter((answer) => processor === 'stripe' || !answersOfStripe.includes(answer))
        .map((answer) => ({ flow, processor, answer })),
    ),
  );
}

/** The points that each run reaches. */
export async function traces(matrix: Matrix): Promise<Map<Run, string[]>> {
  const runs = allRuns();
  const found = new Map<Run, string[]>(runs.map((run) => [run, []]));
  await inLanes(matrix, {}, runs, async (lane, run) => {
    found.set(run, await traceOrRepeat(lane, run));
  });
  return found;
}

/** On a busy machine a run may fail, as a combination may. */
async function traceOrRepeat(lane: Lane, run: Run): Promise<string[]> {
  for (let count = 1; ; count += 1) {
    try {
      return await traceOf(lane, run);
    } catch (error) {
      if (count === mostTries) throw error;
    }
  }
}

/** Every combination, in the order of the runs. */
export function allCombinations(found: ReadonlyMap<Run, readonly string[]>): Combination[] {
  return [...found].flatMap(([run, trace]) => crossed(run, trace));
}

/** Plays combinations, one in each lane at a time. */
export async function playAll(
  matrix: Matrix,
  combinations: readonly Combination[],
  tampering: Tampering = {},
): Promise<Result> {
  const since = performance.now();
  await replaceFunctions(matrix, tampering);
  const result: Result = { combinations: 0, missed: [], violations: [], elapsedMs: 0 };
  await inLanes(matrix, tampering, combinations, async (lane, combination) => {
    const { wasReached, violations } = await playUntilReached(lane, combination);
    if (!wasReached) result.missed.push(titleOf(combination));
    result.combinations += 1;
    result.violations.push(...violations.map((violation) => `${titleOf(combination)}\n    ${violation}`));
  });
  await replaceFunctions(matrix, {});
  return { ...result, elapsedMs: Math.round(performance.now() - since) };
}

/** Creates the SQL functions of the core again, with the changes of a planted bug. */
async function replaceFunctions({ service }: Matrix, { sql: tampered = {} }: Tampering): Promise<void> {
  for (const { name, sql } of readFunctions()) {
    const change = tampered[basename(name, '.sql')] ?? ((text: string) => text);
    const changed = change(sql);
    if (Object.hasOwn(tampered, basename(name, '.sql')) && changed === sql)
      throw new Error(`The planted bug does not change ${name}.`);
    await service.ownerDb.$executeRawUnsafe(changed);
  }
}

async function playUntilReached(lane: Lane, combination: Combination): Promise<Played> {
  for (let count = 1; ; count += 1) {
    const played = await play(lane, combination);
    if (played.wasReached || played.violations.length > 0 || count === mostTries) return played;
  }
}

async function inLanes<T>(
  { service, organizations }: Matrix,
  tampering: Tampering,
  items: readonly T[],
  work: (lane: Lane, item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const playOneByOne = async (organization: TestOrganization) => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      await work({ service, organization, tampering }, item);
    }
  };
  await Promise.all(organizations.map(playOneByOne));
}
