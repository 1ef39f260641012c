import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { migrate } from '../../prisma/migrate.ts';
import { createUser } from '../../shared/people/users.ts';
import { runMain } from '../../shared/platform/run-main.ts';
import { DashboardVisitor } from '../support/dashboard/dashboard-visitor.ts';
import { fillLifelikeRefunds } from '../support/refunds/lifelike-refunds.ts';
import { startService, type TestService } from '../support/service.ts';
import { createDatabase, withClient } from '../support/stores/database-client.ts';
import { startPostgres } from '../support/stores/embedded-postgres.ts';
import { type Recording, recordStatements } from '../support/stores/statements.ts';

// node --import tsx test/bench/dashboard-pages.ts [--refunds 100000] [--rounds 30]: what the server takes for each page of
// the dashboard, with its queries and its bytes, on a PostgreSQL of its own whose cache is warm; no network between.

runMain(async () => {
  const { values } = parseArgs({
    options: { refunds: { type: 'string', default: '100000' }, rounds: { type: 'string', default: '30' } },
  });
  const postgres = await startPostgres({ durable: false });
  const recording = recordStatements();
  try {
    const databaseUrl = await createDatabase(postgres.url, 'bench');
    await migrate(databaseUrl);
    // Nobody works on the refunds while pages are timed.
    const service = await startService({
      databaseUrl,
      backend: { name: 'postgres', redisUrl: null },
      workers: 0,
    });
    try {
      const visitor = await fill(service, Number(values.refunds));
      const rows: Record<string, Measurement> = {};
      for (const [name, url] of Object.entries(await pagesOf(service))) {
        rows[name] = await measure(visitor, url, Number(values.rounds), recording);
      }
      console.table(rows);
    } finally {
      await service.close();
    }
  } finally {
    recording.stop();
    await postgres.stop();
  }
});

/** @returns an owner's browser, signed in. */
async function fill(service: TestService, count: number): Promise<DashboardVisitor> {
  const { deps, organization, settings } = service;
  const organizationId = organization.id;
  const password = randomBytes(9).toString('hex');
  const email = 'owner@example.com';
  await createUser(deps, { organizationId, email, password, role: 'owner', actor: 'bench' });
  await withClient(settings.DATABASE_URL, async (client) => {
    await fillLifelikeRefunds(client, {
      organizationId,
      environment: 'test',
      count,
      now: new Date(),
      days: 90,
    });
    await client.query('vacuum analyze');
  });
  const visitor = new DashboardVisitor(service);
  await visitor.signIn(email, password);
  return visitor;
}

async function pagesOf({ deps, organization }: TestService): Promise<Record<string, string>> {
  const base = `/dashboard/${organization.id}/test`;
  const { id, transactionId } = await deps.db.refund.findFirstOrThrow({ where: { status: 'completed' } });
  return {
    organizations: '/dashboard',
    you: '/dashboard/you',
    'overview of 7 days': `${base}?days=7`,
    'overview of 30 days': base,
    'overview of 90 days': `${base}?days=90`,
    refunds: `${base}/refunds`,
    'refunds, only the table': `${base}/refunds/results`,
    'refunds that failed': `${base}/refunds?status=failed`,
    'refunds by several filters': `${base}/refunds?status=failed&processor=braintree&currency=eur&initiatedBy=mcp`,
    'refunds that need a person': `${base}/refunds?needsPerson=true`,
    'refunds by id': `${base}/refunds?q=${transactionId}`,
    refund: `${base}/refunds/${id}`,
    'refund, only its state': `${base}/refunds/${id}/state`,
    'new refund': `${base}/refunds/new`,
    policies: `${base}/policies`,
    'API keys': `${base}/settings/api-keys`,
    'processor accounts': `${base}/settings/accounts`,
    members: `${base}/settings/members`,
    'audit log': `${base}/settings/audit-log`,
  };
}

interface Measurement {
  'median ms': number;
  'p99 ms': number;
  queries: number;
  'kB of HTML': number;
}

async function measure(
  visitor: DashboardVisitor,
  url: string,
  rounds: number,
  { statements }: Recording,
): Promise<Measurement> {
  for (let round = 0; round < 5; round += 1) await visitor.get(url);
  const sentBefore = statements.length;
  const times: number[] = [];
  let bytes = 0;
  for (let round = 0; round < rounds; round += 1) {
    const startedAt = performance.now();
    const { text, status } = await visitor.get(url);
    times.push(performance.now() - startedAt);
    if (status >= 400) throw new Error(`${url} was answered with ${status}`);
    bytes = Buffer.byteLength(text);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => Number((times[Math.ceil(share * rounds) - 1] ?? 0).toFixed(1));
  // What opens and ends a transaction is none.
  const queries = statements
    .slice(sentBefore)
    .filter(({ text }) => /^\s*(with|select|insert|update|delete)/i.test(text));
  return {
    'median ms': at(0.5),
    'p99 ms': at(0.99),
    queries: Math.round(queries.length / rounds),
    'kB of HTML': Math.round(bytes / 1000),
  };
}
