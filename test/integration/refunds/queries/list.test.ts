import { beforeAll, describe, expect, test } from 'vitest';
import { createApiKey } from '#shared/organizations/api-keys.ts';
import type { Environment } from '#shared/platform/environment.ts';
import { type PublicRefund, toPublicRefund } from '#shared/refunds/model/refund.ts';
import { fillRefunds } from '#test/support/refunds/fill-refunds.ts';
import { newRefund } from '#test/support/refunds/new-refund.ts';
import { unknownRefundId } from '#test/support/refunds/refund-records.ts';
import { withClient } from '#test/support/stores/database-client.ts';
import { useService } from '#test/support/use-service.ts';

const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0 } });
const now = new Date('2026-11-21T12:00:00Z');

/** Values that read the same and are not, and some that no filter finds. */
const metadata = [
  '{"order": 5, "tier": "gold"}',
  '{"order": "5", "tier": "GOLD", "": "x"}',
  '{"order": "05"}',
  '{"order": true, "a b": "c=d"}',
  '{"order": "true", "tier": ""}',
  '{"order": 5.25, "rder": "o"}',
  '{"order": {"order": 5}}',
  '{"order": [5]}',
  '{"order": null}',
  '{"orde": "r5", "caf\u00e9": "\u20ac\u{1f600}"}',
  '{}',
];

const owners: [organizationId: string, environment: Environment][] = [
  ['org_list', 'test'],
  ['org_list', 'live'],
  ['org_else', 'test'],
];
const keys: string[] = [];
/** The refunds of the first owner, newest first. */
let ours: PublicRefund[];

beforeAll(async () => {
  await withClient(service.databaseUrl, async (client) => {
    for (const [organizationId, environment] of owners) {
      await fillRefunds(client, { organizationId, environment, count: 160, now, days: 20 });
      const actor = 'test';
      keys.push((await createApiKey(service.deps, { organizationId, environment, actor })).plaintext);
    }
    await client.query(
      `UPDATE refund SET metadata = ($1::jsonb[])[1 + (hashtextextended(id, 3) & 1023) % $2] WHERE metadata IS NULL
       OR hashtextextended(id, 4) % 2 = 0`,
      [metadata, metadata.length],
    );
  });
  const rows = await service.deps.db.refund.findMany({
    where: { organizationId: 'org_list', environment: 'test' },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
  });
  ours = rows.map(toPublicRefund);
});

const get = async (query: string, key = keys[0]) =>
  await service.call('GET', `/v1/refunds?${query}`, key === undefined ? {} : { key });
const list = async (query: URLSearchParams): Promise<PublicRefund[]> => {
  const { status, body } = await get(query.toString());
  expect([status, body.error], query.toString()).toEqual([200, undefined]);
  return body.data;
};

const textOf = (value: unknown) =>
  ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : null;

test.each([
  ...['5', '05', 'true', '5.25', 'gold', 'GOLD', '', '[5]', 'null', '{"order": 5}'].flatMap((value) => [
    ['order', value],
    ['tier', value],
  ]),
  ['a b', 'c=d'],
  ['caf\u00e9', '\u20ac\u{1f600}'],
  ['orde', 'r5'],
  ['missing', '5'],
  ['constructor', 'x'],
])('metadata[%s]=%s matches text, numbers and booleans with this text', async (key, value) => {
  const expected = ours.filter(({ metadata: given }) => textOf(given?.[key ?? '']) === value);
  const query = new URLSearchParams({ [`metadata[${key}]`]: value ?? '', limit: '100' });
  expect(await list(query)).toEqual(expected);
});

test('times are exact, in any notation of ISO 8601', async () => {
  const [refund] = ours.slice(50);
  const createdAt = new Date(refund?.createdAt ?? '');
  const local = `${new Date(createdAt.getTime() + 5.5 * 3_600_000).toISOString().slice(0, -1)}+05:30`;
  const same = ours.filter((each) => each.createdAt === refund?.createdAt);
  const between = async (from: string, to: string) =>
    await list(new URLSearchParams({ createdAfter: from, createdBefore: to, limit: '100' }));
  const next = new Date(createdAt.getTime() + 1).toISOString();
  const finer = `${createdAt.toISOString().slice(0, -1)}001Z`;
  expect(await between(createdAt.toISOString(), next)).toEqual(same);
  expect(await between(local, next)).toEqual(same);
  expect(await between(createdAt.toISOString(), finer)).toEqual(same);
  expect(await between(finer, next)).toEqual([]);
  expect(await between(createdAt.toISOString(), createdAt.toISOString())).toEqual([]);
  const day = createdAt.toISOString().slice(0, 10);
  expect(await between(day, next)).toEqual(
    ours.filter((each) => each.createdAt >= `${day}T` && each.createdAt < next),
  );
});

test.each([
  ['', 0, 25],
  ['limit=1', 0, 1],
  ['limit=100', 0, 100],
  ['limit=100&offset=159', 159, 160],
  ['offset=1000000', 160, 160],
])('%j returns the refunds from %i to %i, the newest first', async (query, from, to) => {
  const { body } = await get(query);
  expect(body).toEqual({ data: ours.slice(from, to), hasMore: to < ours.length });
});

const garbage: Record<string, string[]> = {
  status: ['', 'Completed', 'completed,failed'],
  processor: [' ', 'x'.repeat(51)],
  transactionId: ['', 'a b'],
  reason: ['because'],
  initiatedBy: ['agent'],
  currency: ['us', 'zzz'],
  createdAfter: ['', 'yesterday', '1763631002', '2026-11-20T09:30:00', '1969-12-31', '+12026-01-01'],
  createdBefore: ['2026-02-30', '2026-11-20 09:30:00Z', '2026-11-20T25:00:00Z'],
  amountMin: ['', '-1', '1.5', '1e3', '0x10', '9007199254740992'],
  amountMax: [' 5'],
  limit: ['', '0', '101'],
  offset: ['-1', '1000001'],
  metadata: ['5', '{"a":1}'],
  'metadata[]': ['5'],
  [`metadata[${'k'.repeat(41)}]`]: ['5'],
  'metadata[__proto__]': ['5'],
  'metadata[a': ['5'],
  Status: ['completed'],
};

test.each(Object.entries(garbage).flatMap(([name, values]) => values.map((value) => [name, value] as const)))(
  'refuses %s=%s and names the parameter',
  async (name, value) => {
    const { status, body } = await get(new URLSearchParams({ [name]: value }).toString());
    expect([status, body.error?.code]).toEqual([400, 'validation_error']);
    const named = name.replace(/\[\]$/, '').slice(0, 40);
    expect(body.error.message.startsWith(`${named}: `), body.error.message).toBe(true);
  },
);

test.each([
  'status=pending',
  'limit=5',
  'createdAfter=2026-01-01',
  `after=${unknownRefundId}`,
  'metadata[order]=5',
])('refuses %s when it is repeated', async (once) => {
  const { status, body } = await get(`${once}&${once}`);
  const [name] = once.split('=');
  expect([status, body.error?.message]).toEqual([400, expect.stringContaining(`${name}: must be`)]);
});

describe('a cursor', () => {
  const refused: [string, () => string | Promise<string>][] = [
    ['is malformed', () => 'after=nothing'],
    ['holds a NUL escape', () => 'after=ref_%2500'],
    ['is unknown', () => `after=${unknownRefundId}`],
    ['is used with an offset', () => `after=${ours[0]?.id}&offset=1`],
    ...[1, 2].map((index): [string, () => Promise<string>] => [
      `belongs to ${owners[index]?.join(' in ')}`,
      async () => `after=${(await get('limit=1', keys[index])).body.data[0].id}`,
    ]),
  ];
  test.each(refused)('that %s is refused in the same words', async (_what, query) => {
    const { status, body } = await get(await query());
    expect([status, body]).toEqual([
      400,
      {
        error: {
          code: 'validation_error',
          message:
            'after: must be the ID of a refund that this key can list, and cannot be combined with offset. Omit it to begin with the newest refund.',
        },
      },
    ]);
  });

  test('neither repeats nor skips a refund while others are created', async () => {
    const { keys: own } = await service.addOrganization('Busy');
    const key = own.test.plaintext;
    const create = async (): Promise<string> => (await newRefund(service, {}, { key })).id;
    const existing: string[] = [];
    for (let count = 0; count < 30; count += 1) existing.push(await create());
    let isReading = true;
    const writers = Array.from({ length: 4 }, async () => {
      const created: string[] = [];
      while (isReading) created.push(await create());
      return created;
    });
    const seen: string[] = [];
    for (let after = ''; ; ) {
      const { body } = await get(`limit=2${after}`, key);
      if (body.data.length === 0) break;
      seen.push(...body.data.map(({ id }: PublicRefund) => id));
      expect(new Set(seen).size, 'pages repeat').toBe(seen.length);
      after = `&after=${seen.at(-1)}`;
      await create();
    }
    isReading = false;
    expect((await Promise.all(writers)).flat().length).toBeGreaterThan(0);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((id) => existing.includes(id))).toEqual(existing.toReversed());
  });
});
