import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { canMove, type RefundStatus, refundStatuses } from '#shared/refunds/model/states.ts';
import { useDatabase } from '../../support/stores/database.ts';
import { insertRow, type Row, waitForLock, withClient } from '../../support/stores/database-client.ts';

const now = new Date('2026-01-01T00:00:00Z');

const organization = { id: 'org_a', name: 'A' };
const owner = { organization_id: 'org_a', environment: 'test' };
const place = { ...owner, processor: 'stripe' };
const key = { ...owner, id: 'key_test', hash: Buffer.alloc(32, 1), last_four: 'abcd', created_by: 'someone' };
const sealed = { encrypted_credentials: Buffer.from('x'), encryption_key_id: 'k1' };
const account = { ...place, ...sealed, id: 'acct_test', name: 'stripe', is_default: true, updated_at: now };
const ofAccount = { ...owner, account_id: account.id };
const payment = { ...ofAccount, id: 1, amount: 100, currency: 'usd' };
const large = { ...payment, id: 9, amount: 1_000 };
const refund = {
  ...{
    ...ofAccount,
    processor: 'stripe',
    id: 'ref_1',
    transaction_id: 'ch_1',
    payment_id: 9,
    amount: 40,
    currency: 'usd',
  },
  ...{ requester: 'key:key_test', api_key_id: 'key_test', initiated_by: 'api', reason: 'other' },
  ...{ status: 'processing', created_at: now, updated_at: now },
};
const event = {
  ...{ ...owner, id: 'evt_1', refund_id: 'ref_1', seq: 1, position: 1, type: 'refund.created' },
  ...{ actor: 'worker', status: 'processing', detail: '{}', created_at: now },
};
const work = { ...ofAccount, processor: 'stripe', refund_id: 'ref_1', due_at: now };
const auditEntry = {
  ...{ id: 'aud_1', organization_id: 'org_a', actor: 'someone', action: 'a', target: 't' },
  ...{ detail: '{}', created_at: now },
};

/** One good row of each table whose guards are about refunds; a test changes what it is about. */
const examples = {
  payment: { ...payment, id: 2 },
  refund: { ...refund, id: 'ref_new' },
  refund_work: { ...work, refund_id: 'ref_2' },
  refund_event: { ...event, id: 'evt_new', seq: 2, position: 2 },
};

type Table = keyof typeof examples;

const fingerprint = Buffer.alloc(32, 8);
const violations: [constraint: string, table: Table, change: Row][] = [
  ['payment_amount_positive', 'payment', { amount: 0 }],
  ['payment_reserved_not_negative', 'payment', { reserved: -1 }],
  ['payment_refunded_outside_not_negative', 'payment', { refunded_outside: -1 }],
  ['payment_not_over_refunded', 'payment', { reserved: 101 }],
  ['payment_not_over_refunded', 'payment', { refunded_outside: 101 }],
  ['payment_not_over_refunded', 'payment', { reserved: 60, refunded_outside: 41 }],
  ['payment_currency_three_lowercase_letters', 'payment', { currency: 'USD' }],
  ['payment_amount_with_currency', 'payment', { amount: null }],
  ['refund_id_is_refund_typeid', 'refund', { id: 'rfd_1' }],
  ['refund_amount_positive', 'refund', { amount: 0 }],
  ['refund_currency_three_lowercase_letters', 'refund', { currency: 'EUR' }],
  ['refund_completed_names_processor_refund', 'refund', { status: 'completed' }],
  ['refund_failed_says_why', 'refund', { status: 'failed' }],
  ['refund_idempotency_key_length', 'refund', { idempotency_key: '', fingerprint }],
  ['refund_fingerprint_has_idempotency_key', 'refund', { fingerprint }],
  ['refund_fingerprint_is_sha256', 'refund', { idempotency_key: 'k', fingerprint: Buffer.alloc(31) }],
  ['refund_work_is_due_or_flagged', 'refund_work', { due_at: null }],
  ['refund_work_flag_says_why', 'refund_work', { flagged_at: now }],
  ['refund_work_facts_need_flag', 'refund_work', { flag_facts: { message: 'No answer' } }],
  ['refund_work_lease_has_token', 'refund_work', { leased_until: now }],
  ['refund_work_failures_not_negative', 'refund_work', { consecutive_failures: -1 }],
  ['refund_work_attempts_not_negative', 'refund_work', { attempt_number: -1 }],
  ['refund_work_idempotency_key_version_from_one', 'refund_work', { idempotency_key_version: 0 }],
  ['refund_work_open_attempt_is_unknown', 'refund_work', { attempt_number: 1, attempt_started_at: now }],
  ['refund_event_seq_from_one', 'refund_event', { seq: 0 }],
  ['refund_event_public_in_feed', 'refund_event', { position: null }],
];

const elsewhere: [what: string, constraint: RegExp, change: Row][] = [
  ['a live key', /^refund_api_key/, { api_key_id: 'key_live' }],
  ["another organization's key", /^refund_api_key/, { api_key_id: 'key_b' }],
  ['a live payment', /^refund_payment/, { payment_id: 3 }],
  ["another organization's payment", /^refund_payment/, { payment_id: 4 }],
];

const url = useDatabase();
let client: pg.Client;

beforeAll(async () => {
  client = new pg.Client({ connectionString: url() });
  await client.connect();
  await insertRow(client, 'organization', organization);
  await insertRow(client, 'api_key', key);
  await insertRow(client, 'processor_account', account);
  await insertRow(client, 'payment', payment);
  await insertRow(client, 'payment', large);
  const live = { environment: 'live' };
  await insertRow(client, 'api_key', { ...key, ...live, id: 'key_live', hash: Buffer.alloc(32, 2) });
  await insertRow(client, 'processor_account', { ...account, id: 'acct_live', environment: 'live' });
  await insertRow(client, 'payment', { ...payment, environment: 'live', account_id: 'acct_live', id: 3 });
  await insertRow(client, 'refund', refund);
  await insertRow(client, 'refund', { ...refund, id: 'ref_2' });
  await insertRow(client, 'refund_event', event);
  await insertRow(client, 'audit_log', auditEntry);
  const other = { organization_id: 'org_b' };
  await insertRow(client, 'organization', { id: 'org_b', name: 'B' });
  await insertRow(client, 'api_key', { ...key, ...other, id: 'key_b', hash: Buffer.alloc(32, 3) });
  await insertRow(client, 'processor_account', { ...account, ...other, id: 'acct_b' });
  await insertRow(client, 'payment', { ...payment, ...other, account_id: 'acct_b', id: 4 });
});

afterAll(() => client.end());

describe('a CHECK constraint', () => {
  test.each(violations)('%s of %s refuses a row that breaks it', async (constraint, table, change) => {
    const row = { ...examples[table], ...change };
    await expect(insertRow(client, table, row)).rejects.toMatchObject({ code: '23514', constraint });
  });

  test('has a case here, each of those about refunds', async () => {
    const { rows } = await client.query<{ conname: string }>(
      `select conname from pg_constraint where contype = 'c' and conrelid = any ($1::text[]::regclass[])`,
      [Object.keys(examples)],
    );
    const tried = new Set(violations.map(([constraint]) => constraint));
    expect(rows.map((row) => row.conname).sort()).toEqual([...tried].sort());
  });
});

describe('an idempotency key', () => {
  const bound = { idempotency_key: 'bound', fingerprint };

  test.for([
    ['made', bound, 'refund_by_idempotency_key'],
    ['cancelled', { cancel_key: 'bound' }, 'refund_by_cancel_key'],
  ] as const)(
    'has %s one refund of its organization and environment at most',
    async ([, key, constraint]) => {
      await client.query('begin');
      try {
        await insertRow(client, 'refund', { ...refund, id: 'ref_first', ...key });
        const live = { environment: 'live', account_id: 'acct_live', payment_id: 3, api_key_id: 'key_live' };
        await insertRow(client, 'refund', { ...refund, id: 'ref_live', ...live, ...key });
        const elsewhere = {
          organization_id: 'org_b',
          account_id: 'acct_b',
          payment_id: 4,
          api_key_id: 'key_b',
        };
        await insertRow(client, 'refund', { ...refund, id: 'ref_elsewhere', ...elsewhere, ...key });
        const second = insertRow(client, 'refund', { ...refund, id: 'ref_second', ...key });
        await expect(second).rejects.toMatchObject({ code: '23505', constraint });
      } finally {
        await client.query('rollback');
      }
    },
  );
});

describe.for(['refund_event', 'audit_log'])('the history in %s', (table) => {
  test.for([
    ['UPDATE', `update ${table} set actor = 'someone else'`],
    ['UPDATE', `update ${table} set actor = 'someone else' where false`],
    ['DELETE', `delete from ${table}`],
    ['TRUNCATE', `truncate ${table}`],
  ] as const)('cannot be rewritten: %s is refused (%s)', async ([operation, statement]) => {
    await expect(client.query(statement)).rejects.toThrow(`${table} is append-only: ${operation} is refused`);
    const { rows } = await client.query(`select actor from ${table}`);
    expect(rows).toEqual([{ actor: table === 'audit_log' ? 'someone' : 'worker' }]);
  });

  test.for(['delete from', 'truncate'])(
    'is not deleted by an announced erasure either (%s)',
    async (command) => {
      await client.query('begin');
      await client.query("select set_config('refunds.erasure', 'on', true)");
      await expect(client.query(`${command} ${table}`)).rejects.toThrow('is append-only');
      await client.query('rollback');
    },
  );
});

describe('test and live, and one organization and another,', () => {
  test.for(elsewhere)('never mix: a test refund cannot stand on %s', async ([, constraint, change]) => {
    const row = { ...refund, id: 'ref_new', ...change };
    await expect(insertRow(client, 'refund', row)).rejects.toMatchObject({
      code: '23503',
      constraint: expect.stringMatching(constraint),
    });
  });

  test('never mix: a payment needs an account of its own environment', async () => {
    const row = { ...payment, id: 5, environment: 'live' };
    await expect(insertRow(client, 'payment', row)).rejects.toMatchObject({ code: '23503' });
    await insertRow(client, 'payment', { ...row, environment: 'test' });
  });

  test('never mix: a refund and its key do not move to the other environment together or alone', async () => {
    for (const table of ['refund', 'api_key']) {
      const move = client.query(`update ${table} set environment = 'live' where environment = 'test'`);
      await expect(move).rejects.toMatchObject({ code: '23503' });
    }
  });
});

describe('a refund in processing', () => {
  /** Records what a worker that holds the lease 7 has learnt. */
  const record = (finding: object) =>
    client.query('select outcome from record_refunds($1)', [JSON.stringify([{ ...held, ...finding }])]);
  const held = { refund_id: 'ref_2', lease_token: 7, expected: 'processing', entries: [], change: {} };

  test('cannot be left without a due time', async () => {
    const lease = { leased_until: new Date('2100-01-01'), lease_token: 7 };
    await insertRow(client, 'refund_work', { ...work, refund_id: 'ref_2', ...lease });
    const forgets = 'Refund ref_2 is processing and would never be due again';
    await expect(record({})).rejects.toThrow(forgets);
    await expect(record({ flag: { reason: 'outcome_unknown' } })).rejects.toThrow(forgets);
    const { rows } = await client.query(
      `select due_at, lease_token from refund_work where refund_id = 'ref_2'`,
    );
    expect(rows).toEqual([{ due_at: now, lease_token: '7' }]);
  });
});

/** Each test in a database transaction that is rolled back. */
function rollBack(): void {
  beforeEach(async () => {
    await client.query('begin');
  });
  afterEach(async () => {
    await client.query('rollback');
  });
}

/** A refund in a status, with what its CHECK constraints require. */
const refundIn = (status: RefundStatus) => ({
  ...{ ...refund, id: `ref_${status}`, status },
  ...{ external_refund_id: 're_1', failure_code: 'declined' },
});

describe('what is reserved of a payment', () => {
  rollBack();

  /** Of each payment what is reserved, and what should be. */
  async function reservations(): Promise<{ reserved: string; live: string }[]> {
    const { rows } = await client.query(
      `select reserved, (select coalesce(sum(amount), 0)::text from refund
         where payment_id = payment.id and status in ('pending', 'processing', 'completed')) as live
       from payment where id in (1, 9) order by id`,
    );
    return rows;
  }

  test.for([
    ['the status of a refund', "update refund set status = 'cancelled' where id = 'ref_1'"],
    ['the statuses of several', "update refund set status = 'failed', failure_code = 'declined'"],
    ['the amount of a refund', "update refund set amount = 7 where id = 'ref_1'"],
    ['the payment of a refund', "update refund set payment_id = 1 where id = 'ref_1'"],
    ['both', "update refund set payment_id = 1, status = 'cancelled' where id = 'ref_1'"],
  ] as const)('follows %s, whichever statement writes it', async ([, statement]) => {
    const before = await reservations();
    await client.query(statement);
    const after = await reservations();
    expect(after).not.toEqual(before);
    expect(after.map(({ reserved }) => reserved)).toEqual(after.map(({ live }) => live));
  });

  test('follows the refunds that are inserted, of which only the live ones count', async () => {
    const [, before] = await reservations();
    for (const status of refundStatuses) await insertRow(client, 'refund', refundIn(status));
    const [, after] = await reservations();
    expect(after?.reserved).toBe(after?.live);
    expect(Number(after?.reserved)).toBe(Number(before?.reserved) + 3 * refund.amount);
  });

  test('never exceeds the payment by a refund that is inserted', async () => {
    const tooMuch = insertRow(client, 'refund', { ...refund, id: 'ref_large', amount: 1_000 });
    await expect(tooMuch).rejects.toMatchObject({ code: '23514', constraint: 'payment_not_over_refunded' });
  });

  test.for(['update refund set amount = 1000', 'update refund set payment_id = 1, amount = 51'])(
    'never exceeds the payment by a refund that is changed: %s',
    async (statement) => {
      const tooMuch = client.query(statement);
      await expect(tooMuch).rejects.toMatchObject({ code: '23514', constraint: 'payment_not_over_refunded' });
    },
  );

  test.for([
    'update payment set reserved = reserved + 1 where id = 9',
    "insert into payment (id, account_id, organization_id, environment, reserved) values (100, 'acct_test', 'org_a', 'test', 1)",
  ])('cannot be written by itself: %s', async (statement) => {
    await expect(client.query(statement)).rejects.toThrow(/follows its refunds and cannot be written/);
  });
});

describe('the status of a refund', () => {
  rollBack();

  test.for(refundStatuses)(
    'moves from %s only as the state table says, whichever statement writes it',
    async (from) => {
      await insertRow(client, 'refund', refundIn(from));
      for (const to of refundStatuses.filter((status) => status !== from)) {
        await client.query('savepoint before_move');
        const written = await client
          .query('update refund set status = $1 where id = $2', [to, `ref_${from}`])
          .then(
            () => 'moved',
            (error: Error) => error.message,
          );
        expect(written).toBe(
          canMove(from, to) ? 'moved' : `Refund ref_${from} cannot move from ${from} to ${to}`,
        );
        await client.query('rollback to savepoint before_move');
      }
    },
  );

  test('moves by the same table in the database and in the code', async () => {
    const { rows } = await client.query<{ from: RefundStatus; to: RefundStatus; moves: boolean }>(
      `select s.from, s.to, can_move(s.from, s.to) as moves
       from unnest(enum_range(null::refund_status)) as f("from"), unnest(enum_range(null::refund_status)) as t("to"),
         lateral (select f.from, t.to) as s`,
    );
    expect(rows).toHaveLength(refundStatuses.length ** 2);
    expect(rows.filter(({ from, to, moves }) => moves !== canMove(from, to))).toEqual([]);
  });
});

test('a move locks the payment before the work and the refund, so that no caller has to', async () => {
  const id = 'ref_2';
  const entries = [{ event_id: 'evt_moved', type: 'refund.cancelled', to: 'cancelled' }];
  const moves = JSON.stringify([{ refund_id: id, expected: 'processing', entries, change: {} }]);
  await client.query('begin');
  await client.query('select from payment where id = 9 for update');
  await withClient(url(), async (mover) => {
    await mover.query('begin');
    const moved = mover.query('select status from move_refunds($1, $2, now())', [moves, 'worker']);
    await waitForLock(client);
    // Free, as for a session that holds the payment and needs them next.
    await client.query('select from refund_work where refund_id = $1 for update nowait', [id]);
    await client.query('select from refund where id = $1 for update nowait', [id]);
    await client.query('rollback');
    expect((await moved).rows).toEqual([{ status: 'cancelled' }]);
    // Held from then on, whatever the caller does next.
    for (const [table, key, value] of [
      ['payment', 'id', 9],
      ['refund_work', 'refund_id', id],
    ] as const) {
      const taken = client.query(`select from ${table} where ${key} = $1 for update nowait`, [value]);
      await expect(taken).rejects.toMatchObject({ code: '55P03' });
    }
    await mover.query('rollback');
  });
});

describe('a refund that seems not sent', () => {
  rollBack();
  const fresh = { ...refund, id: 'ref_fresh' };
  const waiting = { ...refund, id: 'ref_waiting', status: 'pending' };
  beforeEach(async () => {
    await insertRow(client, 'refund', fresh);
    await insertRow(client, 'refund_work', { ...work, refund_id: fresh.id });
    await insertRow(client, 'refund', waiting);
  });

  async function nextStep(): Promise<string> {
    const { rows } = await client.query(
      `select next_refund_step(r, w, s, true, now()) as step
       from refund as r join refund_work as w on w.refund_id = r.id, recovery as s where r.id = $1`,
      [fresh.id],
    );
    return rows[0].step;
  }

  /** What a cancellation comes to, and the status after it. */
  async function cancel(id: string): Promise<[outcome: string, status: string]> {
    const asked = { ...owner, refund_id: id, actor: key.id, event_id: `evt_${id}` };
    const { rows } = await client.query(
      "select outcome, refund->>'status' as status from cancel_refund($1)",
      [JSON.stringify(asked)],
    );
    return [rows[0].outcome, rows[0].status];
  }

  test('is sent, or cancelled without its processor', async () => {
    expect(await nextStep()).toBe('send');
    expect(await cancel(fresh.id)).toEqual(['cancelled', 'cancelled']);
    expect(await cancel(waiting.id)).toEqual(['cancelled', 'cancelled']);
  });

  test('is looked up, and neither sent nor cancelled without its processor, while a recovery is required', async () => {
    await client.query('update recovery set required_since = now()');
    expect(await nextStep()).toBe('look_up');
    expect(await cancel(fresh.id)).toEqual(['requested', 'processing']);
    expect(await nextStep()).toBe('look_up');
    expect(await cancel(waiting.id)).toEqual(['recovering', 'pending']);
  });

  test.each([
    ['sent with the same key for 23 hours', 'send', 1_379, {}],
    ['looked up after 23 hours with the key', 'look_up', 1_381, {}],
    ['looked up once its key is refused', 'look_up', 1, { is_key_spent: true }],
    ['looked up once it is to be cancelled', 'look_up', 1, { cancel_requested_at: now }],
  ])('is %s after a server error', async (_, step, minutes, change: Row) => {
    const { is_key_spent = false, cancel_requested_at = null } = change;
    await client.query(
      `update refund_work set server_error_at = now(), key_used_at = now() - $2 * interval '1 minute', is_key_spent = $3, cancel_requested_at = $4
       where refund_id = $1`,
      [fresh.id, minutes, is_key_spent, cancel_requested_at],
    );
    expect(await nextStep()).toBe(step);
  });
});
