import pg from 'pg';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { PublicEvent } from '#shared/events/event.ts';
import { EventFeed } from '#shared/events/feed.ts';
import type { Environment } from '#shared/platform/environment.ts';
import { toItems } from '#shared/refunds/model/rows.ts';
import { cancellationOf, creationOf, ownerOf } from '../../support/refunds/statement-items.ts';
import type { TestOrganization } from '../../support/service.ts';
import { waitForLock } from '../../support/stores/database-client.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

const service = useService({ workers: 0 });
let owner: TestOrganization;
let feed: EventFeed;
beforeAll(() => {
  feed = new EventFeed(service.deps, new AbortController().signal);
});

const clients: pg.Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end()));
});

/** A connection of its own, which may hold a transaction open. */
async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: service.databaseUrl });
  clients.push(client);
  await client.connect();
  return client;
}

async function begin(): Promise<pg.Client> {
  const client = await connect();
  await client.query('BEGIN');
  return client;
}

/** Creates a refund of a new payment, within the connection's transaction if there is one. */
async function createOn(client: pg.Client, environment: Environment = 'test'): Promise<string> {
  const item = creationOf(ownerOf(owner, environment));
  const { rows } = await client.query('SELECT outcome FROM create_refunds($1::jsonb)', [toItems([item])]);
  expect(rows).toEqual([{ outcome: 'created' }]);
  return item.id;
}

async function cancelOn(client: pg.Client, id: string): Promise<void> {
  const asked = cancellationOf({ organizationId: owner.id, environment: 'test' }, id);
  const { rows } = await client.query('SELECT outcome FROM cancel_refund($1::jsonb)', [toItems(asked)]);
  expect(rows).toEqual([{ outcome: 'cancelled' }]);
}

const page = (after?: string, limit = 100, waitMs = 0) =>
  feed.read({ organizationId: owner.id, environment: 'test' }, { after, type: undefined, limit }, waitMs);

/** What the feed has, as refund ids. */
const refundsInFeed = async () => (await page()).data.map(({ refundId }) => refundId);

describe('the feed', () => {
  beforeAll(async () => {
    owner = service.organization;
  });
  afterEach(async () => {
    owner = await service.addOrganization('Another');
  });

  test('leaves out what commits first until what was drawn first has committed', async () => {
    const early = await begin();
    const first = await createOn(early);
    const second = await createOn(await connect());
    expect(await refundsInFeed()).toEqual([]);
    await early.query('COMMIT');
    expect(await refundsInFeed()).toEqual([first, second]);
  });

  test('goes on after a transaction that rolls back or whose connection breaks', async () => {
    const [undone, lost] = [await begin(), await begin()];
    await createOn(undone);
    await createOn(lost);
    const kept = await createOn(await connect());
    await undone.query('ROLLBACK');
    expect(await refundsInFeed()).toEqual([]);
    await lost.end();
    await waitFor('the broken transaction to end', async () => (await refundsInFeed()).length > 0);
    expect(await refundsInFeed()).toEqual([kept]);
  });

  test('shows what was committed before a transaction with events began, while that stays open', async () => {
    const before = await createOn(await connect());
    const open = await begin();
    await createOn(open);
    const moving = await begin();
    await cancelOn(moving, before);
    expect(await refundsInFeed()).toEqual([before]);
    await moving.query('COMMIT');
    await open.query('COMMIT');
    const types = (await page()).data.map(({ type }) => type);
    expect(types).toEqual(['refund.created', 'refund.created', 'refund.cancelled']);
  });

  test.each([
    ['writes to another table', 'BEGIN', `INSERT INTO lockout VALUES (sha256('someone'), 1, now())`],
    [
      'reads everything, as pg_dump does',
      'BEGIN ISOLATION LEVEL REPEATABLE READ',
      'SELECT count(*) FROM refund_event',
    ],
    [
      'holds advisory locks of its own',
      'BEGIN',
      'SELECT pg_advisory_xact_lock_shared(1, 1), pg_advisory_xact_lock(1)',
    ],
  ])('is not held back by a transaction that %s', async (_what, start, statement) => {
    const other = await connect();
    await other.query(start);
    await other.query(statement);
    await other.query('SELECT pg_current_xact_id()');
    const created = await createOn(await connect());
    expect(await refundsInFeed()).toEqual([created]);
  });

  test('sees what commits while it finds out what has settled', async () => {
    const admin = await connect();
    const gate = 4_711;
    await admin.query(`
      ALTER FUNCTION settled_event_position() RENAME TO real_settled_event_position;
      CREATE FUNCTION settled_event_position() RETURNS bigint LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_advisory_xact_lock_shared(${gate}); RETURN real_settled_event_position(); END $$`);
    try {
      const early = await begin();
      const first = await createOn(early);
      const second = await createOn(await connect());
      await admin.query('SELECT pg_advisory_lock($1)', [gate]);
      const reading = refundsInFeed();
      await waitForLock(admin);
      await early.query('COMMIT');
      await admin.query('SELECT pg_advisory_unlock($1)', [gate]);
      expect(await reading).toEqual([first, second]);
    } finally {
      await admin.query(`
        DROP FUNCTION settled_event_position();
        ALTER FUNCTION real_settled_event_position() RENAME TO settled_event_position`);
    }
  });

  test('keeps its order where the announced positions begin again at zero', async () => {
    const admin = await connect();
    // The next positions have the lowest 31 bits 1111...1 and 0000...0.
    await admin.query(
      `SELECT setval('refund_event_position', ((last_value >> 31) + 1 << 31) - 3) FROM refund_event_position`,
    );
    const transactions: pg.Client[] = [];
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      const client = await begin();
      ids.push(await createOn(client));
      transactions.push(client);
    }
    const steps = [
      { commits: 0, shown: 1 },
      { commits: 4, shown: 1 },
      { commits: 1, shown: 2 },
      { commits: 2, shown: 3 },
      { commits: 3, shown: 5 },
    ];
    for (const { commits, shown } of steps) {
      await transactions[commits]?.query('COMMIT');
      expect(await refundsInFeed()).toEqual(ids.slice(0, shown));
    }
  });

  test('is read once and in order by clients that poll or wait while 20 sessions write', async () => {
    const writers = await Promise.all(Array.from({ length: 20 }, connect));
    const perWriter = 8;
    const expected = writers.length * perWriter * 2;
    const readers = [readAll(expected, 7, 0), readAll(expected, 100, 5_000), readAll(expected, 1, 5_000)];
    const write = async (client: pg.Client) => {
      for (let count = 0; count < perWriter; count += 1) {
        await client.query('BEGIN');
        const id = await createOn(client);
        await client.query('COMMIT');
        await client.query('BEGIN');
        await cancelOn(client, id);
        await client.query('COMMIT');
      }
    };
    await Promise.all(writers.map(write));
    const { rows } = await (await connect()).query(
      'SELECT id FROM refund_event WHERE organization_id = $1 ORDER BY position',
      [owner.id],
    );
    for (const events of await Promise.all(readers)) {
      expect(events.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
      for (const refundId of new Set(events.map((event) => event.refundId))) {
        const seqs = events.filter((event) => event.refundId === refundId).map(({ seq }) => seq);
        expect(seqs).toEqual([1, 2]);
      }
    }
  });
});

/** Follows the feed until it has read so many events. */
async function readAll(count: number, limit: number, waitMs: number): Promise<PublicEvent[]> {
  const events: PublicEvent[] = [];
  let after: string | undefined;
  await waitFor(`${count} events`, async () => {
    let more = true;
    while (more) {
      const { data, nextAfter, hasMore } = await page(after, limit, waitMs);
      events.push(...data);
      after = nextAfter ?? undefined;
      more = hasMore;
    }
    return events.length >= count;
  });
  return events;
}
