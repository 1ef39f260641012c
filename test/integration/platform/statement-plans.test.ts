import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createApiKey } from '#shared/organizations/api-keys.ts';
import { fillOrganization, forgetStatistics } from '../../support/plans/full-organization.ts';
import { type ReadSoFar, readSoFar } from '../../support/plans/reads.ts';
import { count, type Step, stepsOf } from '../../support/plans/steps.ts';
import { aroundCalls } from '../../support/processors/around-calls.ts';
import { isRelease } from '../../support/release.ts';
import type { TestService } from '../../support/service.ts';
import { query } from '../../support/stores/database-client.ts';
import { type Recording, recordStatements } from '../../support/stores/statements.ts';
import { useServiceAlone } from '../../support/use-service-alone.ts';
import { addEndpoint } from '../../support/webhooks/endpoints.ts';

/** What a statement may read at most unless its step says otherwise: rows of tables and entries of indexes, and pages of both. */
const usual = { rows: 600, pages: 1_500 };

// Begins before the service connects.
let recording: Recording;
beforeAll(() => {
  recording = recordStatements();
});
afterAll(() => recording.stop());

const contributorStates = ['analyzed while empty', 'analyzed'] as const;
const states = isRelease ? (['never analyzed', ...contributorStates] as const) : contributorStates;

/** The service's time while a step is taken: one that lasts long does not read its key again. */
let heldAt: Date | null = null;

describe.each(states)('no function and no list depends on statistics: %s', (state) => {
  const service = useServiceAlone({
    workers: 0,
    // One connection each, whose plans are kept and whose counts can be read at once.
    settings: { DATABASE_POOL_SIZE: 1, CREATE_WAIT_MS: 0 },
    // It asks no database for the time.
    overrides: { clock: { now: () => heldAt ?? new Date() } },
  });
  let costs: Cost[];
  let uncalled: string[];

  beforeAll(async () => {
    const { id: endpointId } = await addEndpoint(service, { url: 'http://127.0.0.1:1/' });
    const { id: organizationId } = service.organization;
    const { plaintext: agentKey } = await createApiKey(service.deps, {
      ...{ organizationId, environment: 'test', actor: 'test' },
      agentLimits: {
        ...{ currency: 'usd', maxPerRefund: 2_000n, maxPerPayment: 90_000n, maxPerDay: 1_000_000n },
        ...{ reasons: ['other'], approvalAbove: 90_000n },
      },
    });
    // Its use is noted once a minute, which the steps have no part in.
    await service.deps.db.apiKey.updateMany({ data: { lastUsedAt: new Date(Date.now() + 3_600_000) } });
    await service.sandbox.settings({ autoSettleMs: null });
    const steps = Object.entries(stepsOf(service, endpointId, agentKey, state === 'analyzed')).map(
      ([name, step]): [string, Step] => [name, typeof step === 'function' ? { run: step } : step],
    );
    if (state === 'never analyzed') await forgetStatistics(service.databaseUrl);
    if (state === 'analyzed while empty') {
      await service.ownerDb.$executeRaw`ANALYZE`;
      for (let round = 0; round < 6; round += 1) {
        for (const [, { run }] of steps) await run();
      }
    }
    await fillOrganization(service, endpointId, count);
    // Not in a session of the service, whose statements may not take as long.
    if (state === 'analyzed') await query(service.databaseUrl, 'analyze');
    const before = await calls(service.databaseUrl);
    costs = await costsOf(service, steps);
    const after = [...(await calls(service.databaseUrl))];
    uncalled = after.filter(([name, count]) => count === before.get(name)).map(([name]) => name);
  });

  test('no step takes more statements, calls to processors or wake-ups than it may', () => {
    const excess = costs.filter(({ step, statements, calls }) => {
      const isWithin = statements.length > 0 && statements.length <= (step.statements ?? Infinity);
      return (step.statements !== undefined && !isWithin) || String(calls) !== String(step.calls ?? calls);
    });
    expect(excess).toEqual([]);
  });

  test('every step reads what it is about, and every function is part of one', () => {
    const excess = costs.filter(
      ({ step: { rows = usual.rows, pages = usual.pages }, read }) => read.rows > rows || read.pages > pages,
    );
    expect(excess.map(({ name, read }) => ({ name, ...read }))).toEqual([]);
    // The tests of due refunds count what claiming a backlog reads. A restored database is read as a whole, once, and what may be
    // lost is asked of connected accounts after that alone. No step does what triggers refuse.
    const others = uncalled.filter((name) => !name.endsWith('_due_refunds') && !name.startsWith('refuse_'));
    expect(others.toSorted()).toEqual(['end_recovery', 'may_be_lost', 'resync_open_refunds']);
  });

  if (state !== 'analyzed') return;
  test('statistics tell frequent values of metadata from rare ones', async () => {
    const expected = async (metadata: object, terms = 'metadata_terms') => {
      const owner = service.organization.id;
      const rows = await query(
        service.databaseUrl,
        `explain (format json) select from refund
           where ${terms}(organization_id, metadata) @> ${terms}('${owner}', '${JSON.stringify(metadata)}')`,
      );
      return rows[0]['QUERY PLAN'][0].Plan['Plan Rows'];
    };
    expect(await expected({ channel: 'shop' })).toBeGreaterThan(count / 10);
    expect(await expected({ order: 'A-20001' })).toBeLessThan(count / 100);
    expect(await expected({ '': 'shop' }, 'metadata_words')).toBeGreaterThan(count / 10);
    expect(await expected({ '': '20001' }, 'metadata_words')).toBeLessThan(count / 100);
  });
});

/** What a step came to. */
interface Cost {
  name: string;
  step: Step;
  read: ReadSoFar;
  statements: string[];
  /** As a step has them. */
  calls: string[];
}

async function costsOf(service: TestService, steps: readonly [name: string, step: Step][]): Promise<Cost[]> {
  const { connections, queues } = service.deps;
  let calls: string[] = [];
  const connect = connections.connect.bind(connections);
  const around = (name: string, call: () => Promise<unknown>) => {
    calls.push(name);
    return call();
  };
  const spies = [
    vi
      .spyOn(connections, 'connect')
      .mockImplementation(async (account) => aroundCalls(await connect(account), around)),
    vi.spyOn(queues, 'wake').mockImplementation(() => void calls.push('wake')),
  ];
  const costs: Cost[] = [];
  for (const [name, step] of steps) {
    const before = await readSoFar(service);
    calls = [];
    heldAt = new Date();
    const statements = await recording.during(step.run);
    heldAt = null;
    const made = calls;
    const after = await readSoFar(service);
    const read = { rows: after.rows - before.rows, pages: after.pages - before.pages };
    costs.push({ name, step, read, statements, calls: made });
  }
  for (const spy of spies) spy.mockRestore();
  return costs;
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
