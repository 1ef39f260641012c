import { beforeAll, describe, expect, test } from 'vitest';
import { createApiKey } from '#shared/organizations/api-keys.ts';
import { madeBeforeTests } from '../../support/made-before-tests.ts';
import { fillOrganization, keepStatistics } from '../../support/plans/full-organization.ts';
import { count, type Step, stepsOf } from '../../support/plans/steps.ts';
import { isRelease } from '../../support/release.ts';
import { startService, type TestService } from '../../support/service.ts';
import { postgresQueues } from '../../support/stores/backends.ts';
import { useDatabase } from '../../support/stores/database.ts';
import { query } from '../../support/stores/database-client.ts';
import { addEndpoint } from '../../support/webhooks/endpoints.ts';

/** What a statement may read at most unless its step says otherwise: rows of tables and entries of indexes, and pages of both. */
const usual = { rows: 600, pages: 1_500 };

const contributorStates = ['analyzed while empty', 'analyzed'] as const;
const states = isRelease ? (['never analyzed', ...contributorStates] as const) : contributorStates;

describe.each(states)('no function and no list depends on statistics: %s', (state) => {
  const databaseUrl = useDatabase();
  const service = madeBeforeTests(
    'The service',
    async () => {
      const [{ name }] = await query(databaseUrl(), 'select current_database() as name');
      // In sessions that begin from now on.
      await query(databaseUrl(), `alter database "${name}" set track_functions = 'all'`);
      // One connection each, whose plans are kept and whose counts can be read at once.
      const settings = { DATABASE_POOL_SIZE: 1, CREATE_WAIT_MS: 0 };
      return await startService({
        backend: postgresQueues,
        workers: 0,
        settings,
        databaseUrl: databaseUrl(),
      });
    },
    (made) => made.close(),
  );
  let steps: Record<string, Step>;

  beforeAll(async () => {
    const { id: endpointId } = await addEndpoint(service, { url: 'http://127.0.0.1:1/' });
    const { id: organizationId } = service.organization;
    const { plaintext: agentKey } = await createApiKey(service.deps, {
      ...{ organizationId, environment: 'test', actor: 'test' },
      agentLimits: { currency: 'usd', maxPerDay: 1_000_000n },
    });
    steps = stepsOf(service, endpointId, agentKey, state === 'analyzed');
    await keepStatistics(databaseUrl());
    if (state === 'analyzed while empty') {
      await service.ownerDb.$executeRaw`ANALYZE`;
      for (let round = 0; round < 6; round += 1) {
        for (const step of Object.values(steps)) await (typeof step === 'function' ? step : step.run)();
      }
    }
    await fillOrganization(service, endpointId, count);
    // Not in a session of the service, whose statements may not take as long.
    if (state === 'analyzed') await query(databaseUrl(), 'analyze');
  });

  test('every step reads what it is about, and every function is part of one', async () => {
    const before = await calls(databaseUrl());
    expect(await excessOf(service, steps)).toEqual([]);
    const uncalled = [...(await calls(databaseUrl()))].filter(([name, count]) => count === before.get(name));
    // The tests of due refunds count what claiming a backlog reads; the trigger refuses what no step does.
    const others = uncalled.map(([name]) => name).filter((name) => !name.endsWith('_due_refunds'));
    // A restored database is read as a whole, once.
    expect(others.toSorted()).toEqual([
      'end_recovery',
      'refuse_change_of_history',
      'require_recovery',
      'resync_open_refunds',
    ]);
  });

  if (state !== 'analyzed') return;
  test('statistics tell frequent values of metadata from rare ones', async () => {
    const expected = async (metadata: object) => {
      const owner = service.organization.id;
      const rows = await query(
        databaseUrl(),
        `explain (format json) select from refund
           where metadata_terms(organization_id, metadata) @> metadata_terms('${owner}', '${JSON.stringify(metadata)}')`,
      );
      return rows[0]['QUERY PLAN'][0].Plan['Plan Rows'];
    };
    expect(await expected({ channel: 'shop' })).toBeGreaterThan(count / 10);
    expect(await expected({ order: 'A-20001' })).toBeLessThan(count / 100);
  });
});

/** The steps that read more than they may. */
async function excessOf(service: TestService, steps: Readonly<Record<string, Step>>): Promise<object[]> {
  const excess: object[] = [];
  for (const [name, step] of Object.entries(steps)) {
    const { run, rows = usual.rows, pages = usual.pages } = typeof step === 'function' ? { run: step } : step;
    const before = await readSoFar(service);
    await run();
    const after = await readSoFar(service);
    const read = { rows: after.rows - before.rows, pages: after.pages - before.pages };
    if (read.rows > rows || read.pages > pages) excess.push({ name, ...read });
  }
  return excess;
}

/** How often each function of the database was called; those in SQL are part of the statements that call them. */
async function calls(databaseUrl: string): Promise<Map<string, number>> {
  const rows = await query(
    databaseUrl,
    `select proname, coalesce(calls, 0)::int as calls from pg_proc left join pg_stat_user_functions on funcid = oid
     where pronamespace = 'public'::regnamespace and prolang = (select oid from pg_language where lanname = 'plpgsql')`,
  );
  return new Map(rows.map(({ proname, calls }) => [proname, calls]));
}

/** What was read so far in this database. */
async function readSoFar({ deps: { db, reads } }: TestService): Promise<{ rows: number; pages: number }> {
  await reads.query('SELECT pg_stat_force_next_flush()::text', []);
  await db.$queryRaw`SELECT pg_stat_force_next_flush()::text`;
  const [row] = await db.$queryRaw<{ rows: number; pages: number }[]>`
    SELECT ((SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = 'public')
        + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = 'public'))::int AS rows,
      (SELECT sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit + idx_blks_read, 0)) FROM pg_statio_user_tables
        WHERE schemaname = 'public')::int AS pages`;
  return row ?? { rows: 0, pages: 0 };
}
