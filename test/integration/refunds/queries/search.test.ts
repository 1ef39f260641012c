import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { createApiKey } from '#shared/organizations/api-keys.ts';
import { encodeCursor } from '#shared/platform/cursor.ts';
import type { Database, Refund } from '#shared/platform/database.ts';
import { initiators, refundReasons } from '#shared/refund-request/reasons.ts';
import type { RefundOwner, RefundWithWork } from '#shared/refunds/model/refund.ts';
import { refundStatuses } from '#shared/refunds/model/states.ts';
import { exportRefunds } from '#shared/refunds/queries/export-refunds.ts';
import type { RefundFilter } from '#shared/refunds/queries/refund-filter.ts';
import {
  countRefunds,
  findLargest,
  type RefundPage,
  searchRefunds,
} from '#shared/refunds/queries/search-refunds.ts';
import { parseCsv, wholeText } from '#test/support/http/csv.ts';
import { fillRefunds } from '#test/support/refunds/fill-refunds.ts';
import { withClient } from '#test/support/stores/database-client.ts';
import { useService } from '#test/support/use-service.ts';

const now = new Date('2026-11-21T12:00:00Z');
const ours: RefundOwner = { organizationId: 'org_ours', environment: 'live' };
const oursInTest: RefundOwner = { organizationId: 'org_ours', environment: 'test' };
const theirs: RefundOwner = { organizationId: 'org_theirs', environment: 'live' };

const service = useService({ workers: 0 });
let db: Database;
let everything: RefundWithWork[];
let key: string;

beforeAll(async () => {
  await withClient(service.databaseUrl, async (client) => {
    for (const owner of [ours, oursInTest, theirs]) {
      await fillRefunds(client, { ...owner, count: 150, now, days: 30 });
    }
  });
  ({ db } = service.deps);
  everything = await db.refund.findMany({ include: { work: true } });
  key = (await createApiKey(service.deps, { ...ours, actor: 'test' })).plaintext;
});

/** What a filter means, without any database; newest first. */
function expected(owner: RefundOwner, filter: RefundFilter): Refund[] {
  const {
    status: statuses = [],
    processor,
    initiatedBy,
    reason,
    currency,
    createdAfter,
    createdBefore,
  } = filter;
  const { transactionId } = filter;
  const { amountMin, amountMax, metadata = {}, needsAttention = false, q = '' } = filter;
  return everything
    .filter(
      (refund) =>
        refund.organizationId === owner.organizationId &&
        refund.environment === owner.environment &&
        (statuses.length === 0 || statuses.includes(refund.status)) &&
        (processor === undefined || refund.processor === processor) &&
        (initiatedBy === undefined || refund.initiatedBy === initiatedBy) &&
        (reason === undefined || refund.reason === reason) &&
        (currency === undefined || refund.currency === currency) &&
        (createdAfter === undefined || refund.createdAt >= createdAfter) &&
        (createdBefore === undefined || refund.createdAt < createdBefore) &&
        (amountMin === undefined || refund.amount >= amountMin) &&
        (amountMax === undefined || refund.amount <= amountMax) &&
        Object.entries(metadata).every(([name, value]) => metadataOf(refund)[name] === value) &&
        (transactionId === undefined || refund.transactionId === transactionId) &&
        (!needsAttention || refund.status === 'pending' || refund.work?.flaggedAt != null) &&
        (q.trim() === '' || [refund.id, refund.transactionId, refund.externalRefundId].includes(q.trim())),
    )
    .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.id < b.id ? 1 : -1));
}

const metadataOf = ({ metadata }: Refund) => (metadata ?? {}) as Record<string, unknown>;
const idsOf = (refunds: readonly { id: string }[]) => refunds.map(({ id }) => id);

async function walk(
  filter: RefundFilter,
  limit: number,
  direction: 'next' | 'previous',
  from: string | null,
  isOldestFirst = false,
): Promise<RefundPage[]> {
  const pages: RefundPage[] = [];
  let cursor: string | null = from;
  do {
    const page: RefundPage = await searchRefunds(db, ours, filter, { cursor, limit, isOldestFirst });
    pages.push(page);
    cursor = page[direction];
  } while (cursor !== null);
  return pages;
}

const amounts = fc.bigInt(0n, 20_001n);
const rows = () => fc.constantFrom(...everything);

function filters(): fc.Arbitrary<RefundFilter> {
  const plain = fc.record(
    {
      status: fc.subarray([...refundStatuses]),
      processor: fc.constantFrom('stripe', 'braintree'),
      initiatedBy: fc.constantFrom(...initiators),
      reason: fc.constantFrom(...refundReasons),
      createdAfter: rows().map(({ createdAt }) => createdAt),
      createdBefore: rows().map(({ createdAt }) => createdAt),
      metadata: fc.constant({ channel: 'shop' }),
      needsAttention: fc.boolean(),
    },
    { requiredKeys: [] },
  );
  const money = fc.record(
    { currency: fc.constantFrom('usd', 'eur', 'chf'), amountMin: amounts, amountMax: amounts },
    { requiredKeys: ['currency'] },
  );
  const payment = fc.record({ transactionId: rows().map(({ transactionId }) => transactionId) });
  const named = fc.record({
    q: rows().chain(({ id, transactionId, externalRefundId }) =>
      fc.constantFrom(id, ` ${transactionId} `, externalRefundId ?? id, '  ', `${id}x`),
    ),
  });
  // Most filters let many refunds pass, so that there are pages to turn.
  const few = fc
    .tuple(plain, fc.constantFrom('status', 'processor', 'createdAfter', 'needsAttention'))
    .map(([filter, key]): RefundFilter => ({ [key]: filter[key as keyof typeof filter] }));
  const mixed = fc.tuple(plain, money, named).map(([most, some, name]) => ({ ...most, ...some, ...name }));
  return fc.oneof({ weight: 4, arbitrary: few }, plain, money, payment, named, mixed);
}

async function exportedIds(filter: RefundFilter): Promise<string[]> {
  const [, ...lines] = parseCsv(await wholeText(exportRefunds(db, ours, filter)));
  return lines.map(([id = '']) => id);
}

test('lists every matching refund on exactly one page, in both orders and directions', async () => {
  await fc.assert(
    fc.asyncProperty(
      filters(),
      fc.integer({ min: 2, max: 7 }),
      fc.boolean(),
      async (filter, parts, oldest) => {
        const newest = idsOf(expected(ours, filter));
        const ids = oldest ? newest.toReversed() : newest;
        const limit = Math.max(1, Math.ceil(ids.length / parts));
        const pages = await walk(filter, limit, 'next', null, oldest);
        expect(pages.flatMap(({ refunds }) => idsOf(refunds))).toEqual(ids);
        expect(pages[0]?.previous).toBeNull();
        const last = pages.at(-1);
        const back = last?.previous ?? null;
        const backwards = back === null ? [] : await walk(filter, limit, 'previous', back, oldest);
        const before = backwards.toReversed().flatMap(({ refunds }) => idsOf(refunds));
        expect([...before, ...idsOf(last?.refunds ?? [])]).toEqual(ids);
      },
    ),
    { numRuns: 30 },
  );
});

/** The filter as a query of the API, which has no search text and at most one status. */
function queryOf({ status: [status] = [], metadata, ...others }: RefundFilter) {
  const { needsAttention: _, q: __, ...texts } = others;
  const fields = { ...texts, status };
  const given = Object.entries(fields).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, value instanceof Date ? value.toISOString() : String(value)]],
  );
  const values = Object.entries(metadata ?? {}).map(([name, value]) => [`metadata[${name}]`, value]);
  return new URLSearchParams([...given, ...values]);
}

test('the API returns what a filter finds, in pages without a gap', async () => {
  await fc.assert(
    fc.asyncProperty(filters(), fc.integer({ min: 2, max: 7 }), async (asked, parts) => {
      const filter = { ...asked, status: asked.status?.slice(0, 1), needsAttention: false, q: '' };
      const ids = idsOf(expected(ours, filter));
      const limit = String(Math.min(100, Math.max(1, Math.ceil(ids.length / parts))));
      const seen: string[] = [];
      for (let hasMore = true; hasMore && seen.length <= ids.length; ) {
        const last = seen.length === 0 ? [] : [['after', seen.at(-1) ?? '']];
        const query = new URLSearchParams([...queryOf(filter), ['limit', limit], ...last]);
        const { status, body } = await service.call('GET', `/v1/refunds?${query}`, { key });
        expect([status, body.error]).toEqual([200, undefined]);
        seen.push(...idsOf(body.data));
        ({ hasMore } = body);
      }
      expect(seen).toEqual(ids);
    }),
    { numRuns: 60 },
  );
});

test('finds the largest among the newest that match', async () => {
  await fc.assert(
    fc.asyncProperty(filters(), fc.integer({ min: 1, max: 60 }), async (filter, among) => {
      // Sorting is stable, so of equal amounts the newest comes first.
      const newest = expected(ours, filter).slice(0, among);
      const largest = newest.toSorted((a, b) => Number(b.amount - a.amount)).slice(0, 10);
      expect(idsOf(await findLargest(db, ours, filter, { among, limit: 10 }))).toEqual(idsOf(largest));
    }),
    { numRuns: 20 },
  );
});

test('counts and exports the same refunds as the pages show', async () => {
  await fc.assert(
    fc.asyncProperty(filters(), fc.integer({ min: 1, max: 60 }), async (filter, cap) => {
      const ids = idsOf(expected(ours, filter));
      const counted = { count: Math.min(ids.length, cap), atLeast: ids.length > cap };
      expect(await countRefunds(db, ours, [filter, {}], cap)).toEqual([counted, expect.anything()]);
      expect(await exportedIds(filter)).toEqual(ids);
    }),
    { numRuns: 20 },
  );
});

const anything = { cursor: null, limit: 100 };

test.each([
  ['a part of an id', 'ref_0'],
  ['what no id is made of', 'ch_\u0000'],
  ['what is too long for an id', 'x'.repeat(256)],
])('%s finds nothing', async (_name, q) => {
  expect(await searchRefunds(db, ours, { q }, anything)).toEqual({ refunds: [], next: null, previous: null });
});

const position = { createdAt: now, id: 'ref_1' };
const good = encodeCursor({ direction: 'older', position });
const encoded = (text: string) => Buffer.from(text).toString('base64url');

test.each([
  ['empty', ''],
  ['another direction', encoded('sideways.1.ref_1')],
  ['another id', encoded('older.1.org_1')],
  ['more than a cursor', encoded("older.1.ref_1' or true")],
  ['a cursor with something behind it', `${good}!`],
])('a cursor that is %s is refused', async (_name, cursor) => {
  await expect(searchRefunds(db, ours, {}, { cursor, limit: 10 })).rejects.toMatchObject({
    code: 'validation_error',
    message: expect.stringMatching(/^cursor: /),
  });
});
