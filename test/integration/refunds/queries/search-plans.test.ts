import { beforeAll, describe, expect, test } from 'vitest';
import { readNeedsAttention } from '../../../../shared/insights/needs-attention.ts';
import { readOverview } from '../../../../shared/insights/overview.ts';
import { openReads } from '../../../../shared/platform/database.ts';
import { processorNames } from '../../../../shared/processors/registry.ts';
import { exportRefunds } from '../../../../shared/refunds/queries/export-refunds.ts';
import {
  listRefunds,
  openRefundReads,
  type RefundListing,
} from '../../../../shared/refunds/queries/find-refunds.ts';
import type { RefundFilter } from '../../../../shared/refunds/queries/refund-filter.ts';
import {
  countRefunds,
  encodeCursor,
  searchRefunds,
} from '../../../../shared/refunds/queries/search-refunds.ts';
import { fillRefunds } from '../../../support/refunds/many-refunds.ts';
import { useDatabase } from '../../../support/stores/database.ts';
import { query, withClient } from '../../../support/stores/database-client.ts';
import { plansOf } from '../../../support/stores/statements.ts';
import { waitFor } from '../../../support/wait-for.ts';

const now = new Date('2026-11-21T12:00:00Z');
const day = (index: number) => new Date(now.getTime() - index * 86_400_000);
const large = { organizationId: 'org_large', environment: 'live' } as const;
const small = { organizationId: 'org_small', environment: 'live' } as const;

const databaseUrl = useDatabase();

beforeAll(async () => {
  await withClient(databaseUrl(), async (client) => {
    await fillRefunds(client, { ...large, count: 12_000, now, days: 120 });
    await fillRefunds(client, { ...large, environment: 'test', count: 1_000, now, days: 120 });
    await fillRefunds(client, { ...small, count: 200, now, days: 120 });
    for (const organizationId of ['org_neighbour', 'org_other']) {
      await fillRefunds(client, { organizationId, environment: 'live', count: 3_500, now, days: 120 });
    }
    // As autovacuum does by itself, which may be at work at this moment and hide what is new from the vacuum.
    await waitFor('all refunds to be visible in the index alone', async () => {
      await client.query('vacuum analyze');
      const { rows } = await client.query(
        `select from pg_class where relname = 'refund' and relallvisible = relpages`,
      );
      return rows.length === 1;
    });
  });
});

/** The work, held to this many pages in each of its queries, none of which may go through the table of all refunds. */
async function expectPages(work: Parameters<typeof plansOf>[1], pagesAtMost: number): Promise<void> {
  const plans = await plansOf(databaseUrl(), work);
  expect(plans).not.toEqual([]);
  for (const { text, nodes, pages } of plans) {
    expect(nodes, text).not.toContainEqual(expect.stringMatching(/Seq Scan on refund\b/));
    expect(pages, `${text}\n${nodes.join('\n')}`).toBeLessThanOrEqual(pagesAtMost);
  }
}

/**
 * For fifty refunds: each is found in the list, and loaded by its id in three or four pages. A page is counted as often as
 * it is looked at, and for each row of an index it is asked whether the row is visible. The table has a thousand pages.
 */
const pagesOfOneList = 460;

async function oneOf(column: 'id' | 'transaction_id' | 'external_refund_id'): Promise<string> {
  const [row] = await query(
    databaseUrl(),
    `select ${column} as value from refund where organization_id = 'org_large' and environment = 'live'
     and ${column} is not null limit 1`,
  );
  return row.value;
}

const common: [string, RefundFilter][] = [
  ['none', {}],
  ['status', { statuses: ['completed'] }],
  ['rare status', { statuses: ['pending'] }],
  ['statuses', { statuses: ['failed', 'cancelled'] }],
  ['processor', { processor: 'braintree' }],
  ['source', { initiatedBy: 'dashboard' }],
  ['reason', { reason: 'other' }],
  ['currency', { currency: 'kwd' }],
  ['amounts', { currency: 'usd', amountFrom: 5_000n, amountTo: 15_000n }],
  ['times', { createdAfter: day(60), createdBefore: day(30) }],
  ['needs attention', { needsAttention: true }],
  ['needs attention and others', { needsAttention: true, processor: 'stripe', statuses: ['processing'] }],
  ['status and processor', { statuses: ['failed'], processor: 'stripe' }],
];

/** Refunds that need attention are read one by one and then sorted. Their number does not grow with the table. */
async function pagesOf({ needsAttention = false }: RefundFilter): Promise<number> {
  if (!needsAttention) return pagesOfOneList;
  const [{ count }] = await query(
    databaseUrl(),
    `select count(*)::int from refund left join refund_work on refund_id = id where refund.organization_id = 'org_large'
     and refund.environment = 'live' and (status = 'pending' or flagged_at is not null)`,
  );
  return pagesOfOneList + count;
}

describe('a filter reads its page and not the table', () => {
  test.each(common)('%s', async (_name, filter) => {
    const pages = await pagesOf(filter);
    await expectPages((db) => searchRefunds(db, large, filter, { cursor: null, limit: 50 }), pages);
  });

  test.each(common)('%s, from the middle in both directions', async (_name, filter) => {
    const pages = await pagesOf(filter);
    for (const direction of ['older', 'newer'] as const) {
      const cursor = encodeCursor({ direction, position: { createdAt: day(45), id: 'ref_5' } });
      await expectPages((db) => searchRefunds(db, large, filter, { cursor, limit: 50 }), pages);
    }
  });
});

/** The API reads the whole rows in one statement. */
async function expectPagesOfList(listing: Partial<RefundListing>, pagesAtMost: number): Promise<void> {
  const reads = openReads(databaseUrl(), { poolSize: 1 });
  const list = () => listRefunds(openRefundReads(reads), large, { limit: 25, offset: 0, ...listing });
  await expectPages(list, pagesAtMost).finally(() => reads.close());
}

const listings: [string, Partial<RefundListing>][] = [
  ['none', {}],
  ['status', { status: 'completed' }],
  ['rare status', { status: 'pending' }],
  ['processor', { processor: 'braintree' }],
  ['source', { initiatedBy: 'dashboard' }],
  ['reason', { reason: 'other' }],
  ['currency', { currency: 'kwd' }],
  ['amounts', { amountMin: 5_000, amountMax: 15_000 }],
  ['times', { createdAfter: day(60), createdBefore: day(30) }],
  ['status and amounts', { status: 'failed', amountMin: 5_000 }],
  ['rare metadata', { metadata: { order: '3' } }],
  ['frequent metadata', { metadata: { channel: 'web' } }],
  ['missing metadata', { metadata: { order: 'none' } }],
  ['rare and frequent metadata', { metadata: { channel: 'web', order: '3' } }],
  ['metadata and others', { metadata: { channel: 'web' }, status: 'completed', processor: 'stripe' }],
];

describe('the list of the API reads its page and not the table', () => {
  test.each(listings)('%s', async (_name, listing) => {
    await expectPagesOfList(listing, pagesOfOneList);
  });

  test.each(listings)('%s, after a refund in the middle', async (_name, listing) => {
    const [{ id }] = await query(
      databaseUrl(),
      `select id from refund where organization_id = 'org_large' and environment = 'live' and created_at < $1
       order by created_at desc limit 1`.replace('$1', `'${day(45).toISOString()}'`),
    );
    await expectPagesOfList({ ...listing, after: id }, pagesOfOneList);
  });

  test('by the payment, at the cost of its refunds', async () => {
    const transactionId = await oneOf('transaction_id');
    await expectPagesOfList({ transactionId }, 40);
    await expectPagesOfList({ transactionId, status: 'completed', metadata: { channel: 'web' } }, 40);
    await expectPagesOfList({ transactionId: 'ch_none' }, 40);
  });
});

/** The indexes of payments and of refunds are searched once per processor. */
const pagesOfLookup = 20 * processorNames.length;

test.each(['id', 'transaction_id', 'external_refund_id'] as const)(
  'a refund is found by its %s at the cost of one',
  async (column) => {
    const q = await oneOf(column);
    const search = { cursor: null, limit: 50 };
    await expectPages(async (db) => {
      expect((await searchRefunds(db, large, { q }, search)).refunds).not.toEqual([]);
    }, pagesOfLookup);
    await expectPages((db) => searchRefunds(db, small, { q }, search), pagesOfLookup);
    await expectPages((db) => countRefunds(db, large, { q }, 1_000), pagesOfLookup);
  },
);

test('reads nothing of larger organizations', async () => {
  for (const [, filter] of common) {
    await expectPages((db) => searchRefunds(db, small, filter, { cursor: null, limit: 50 }), pagesOfOneList);
    await expectPages((db) => countRefunds(db, small, filter, 1_000), 250);
  }
  await expectPages((db) => readOverview(db, small, { now, days: 90, currency: null }), 250);
});

test('stops counting at the cap', async () => {
  await expectPages((db) => countRefunds(db, large, {}, 100), 130);
  await expectPages((db) => countRefunds(db, large, { statuses: ['completed'] }, 100), 130);
});

test('exports in batches', async () => {
  await expectPages(async (db) => {
    const pieces = exportRefunds(db, large, {});
    for (let piece = 0; piece < 3; piece += 1) await pieces.next();
    await pieces.return();
  }, 2_500);
});

test('reads the overview with equally many queries for a week and three months', async () => {
  const overview = (days: 7 | 90) =>
    plansOf(databaseUrl(), (db) => readOverview(db, large, { now, days, currency: null }));
  const [week, quarter] = [await overview(7), await overview(90)];
  expect(week).toHaveLength(3);
  expect(quarter).toHaveLength(3);
  for (const { pages } of week) expect(pages).toBeLessThan(1_000);
});

test('finds refunds that need attention without reading the others', async () => {
  await expectPages((db) => readNeedsAttention(db, large), 1_000);
});
