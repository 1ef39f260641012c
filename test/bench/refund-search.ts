import { parseArgs } from 'node:util';
import { migrate } from '../../prisma/migrate.ts';
import { readNeedsAttention } from '../../shared/insights/needs-attention.ts';
import { readOverview } from '../../shared/insights/overview.ts';
import { type Database, openDatabase } from '../../shared/platform/database.ts';
import { runMain } from '../../shared/platform/run-main.ts';
import { exportRefunds } from '../../shared/refunds/queries/export-refunds.ts';
import { encodeCursor } from '../../shared/refunds/queries/refund-cursor.ts';
import type { RefundFilter } from '../../shared/refunds/queries/refund-filter.ts';
import { countRefunds, searchRefunds } from '../../shared/refunds/queries/search-refunds.ts';
import { fillRefunds } from '../support/refunds/many-refunds.ts';
import { createDatabase } from '../support/stores/create-database.ts';
import { withClient } from '../support/stores/database-client.ts';
import { startPostgres } from '../support/stores/embedded-postgres.ts';
import { recordStatements } from '../support/stores/recorded-statements.ts';

// node --import tsx test/bench/refund-search.ts [--refunds 100000] [--rounds 50]: what reading costs in an organization
// with that many refunds and two neighbours of half its size, on a PostgreSQL of its own whose cache is warm.

const now = new Date('2026-11-21T12:00:00Z');
const owner = { organizationId: 'org_large', environment: 'live' } as const;

runMain(async () => {
  const { values } = parseArgs({
    options: { refunds: { type: 'string', default: '100000' }, rounds: { type: 'string', default: '50' } },
  });
  const postgres = await startPostgres({ durable: false });
  const recording = recordStatements();
  try {
    const url = await createDatabase(postgres.url, 'bench');
    await migrate(url);
    await fill(url, Number(values.refunds));
    const db = openDatabase(url, { poolSize: 5 });
    const works = await worksOf(db);
    const rows: Record<string, Measurement> = {};
    for (const [name, work] of Object.entries(works)) {
      rows[name] = await measure(work, Number(values.rounds), recording.statements);
    }
    console.table(rows);
    await db.$disconnect();
  } finally {
    recording.stop();
    await postgres.stop();
  }
});

async function fill(url: string, count: number): Promise<void> {
  await withClient(url, async (client) => {
    await fillRefunds(client, { ...owner, count, now, days: 120 });
    for (const organizationId of ['org_neighbour', 'org_other']) {
      await fillRefunds(client, { ...owner, organizationId, count: Math.ceil(count / 2), now, days: 120 });
    }
    await client.query('vacuum analyze');
  });
}

type Work = () => Promise<unknown>;

async function worksOf(db: Database): Promise<Record<string, Work>> {
  const refund = await db.refund.findFirstOrThrow({ where: { ...owner, status: 'completed' } });
  const middle = encodeCursor({
    direction: 'older',
    position: { createdAt: new Date(now.getTime() - 60 * 86_400_000), id: refund.id },
  });
  const search = (filter: RefundFilter, cursor: string | null = null) =>
    searchRefunds(db, owner, filter, { cursor, limit: 50 });
  const rare: RefundFilter = {
    statuses: ['failed', 'cancelled'],
    initiatedBy: 'mcp',
    currency: 'kwd',
    amountFrom: 20_001n,
  };
  const piecesOf = async (filter: RefundFilter) => {
    for await (const _ of exportRefunds(db, owner, filter));
  };
  return {
    'first page': () => search({}),
    'page in the middle': () => search({}, middle),
    'by status': () => search({ statuses: ['failed'] }),
    'by two statuses': () => search({ statuses: ['pending', 'cancelled'] }),
    'by processor': () => search({ processor: 'braintree' }),
    'by currency and amount': () => search({ currency: 'kwd', amountFrom: 19_000n }),
    'needs a person': () => search({ needsPerson: true }),
    'found by our id': () => search({ q: refund.id }),
    'found by transaction id': () => search({ q: refund.transactionId }),
    "found by the processor's id": () => search({ q: refund.externalRefundId ?? '' }),
    'found by no id': () => search({ q: 're_nobody' }),
    'what nobody has': () => search(rare),
    'count of all, to 1,000': () => countRefunds(db, owner, {}, 1_000),
    'count of what nobody has': () => countRefunds(db, owner, rare, 1_000),
    'export of one status': () => piecesOf({ statuses: ['cancelled'] }),
    'overview of 7 days': () => readOverview(db, owner, { now, days: 7, currency: null }),
    'overview of 30 days': () => readOverview(db, owner, { now, days: 30, currency: null }),
    'overview of 90 days': () => readOverview(db, owner, { now, days: 90, currency: null }),
    'what a person has to see': () => readNeedsAttention(db, owner),
  };
}

interface Measurement {
  'median ms': number;
  'p99 ms': number;
  queries: number;
}

async function measure(
  work: Work,
  rounds: number,
  statements: readonly { text: string }[],
): Promise<Measurement> {
  for (let round = 0; round < 10; round += 1) await work();
  const sentBefore = statements.length;
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const startedAt = performance.now();
    await work();
    times.push(performance.now() - startedAt);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => Number((times[Math.ceil(share * rounds) - 1] ?? 0).toFixed(1));
  const selects = statements.slice(sentBefore).filter(({ text }) => /^\s*select/i.test(text));
  return { 'median ms': at(0.5), 'p99 ms': at(0.99), queries: selects.length / rounds };
}
