import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useDatabase } from '../../support/stores/database.ts';
import { insertRow, type Row } from '../../support/stores/database-client.ts';

const now = new Date('2026-01-01T00:00:00Z');

const organization = { id: 'org_a', name: 'A' };
const owner = { organization_id: 'org_a', environment: 'test' };
const place = { ...owner, processor: 'stripe' };
const key = { ...owner, id: 'key_test', hash: Buffer.alloc(32, 1), last_four: 'abcd', created_by: 'someone' };
const sealed = { encrypted_credentials: Buffer.from('x'), encryption_key_id: 'k1' };
const account = { ...place, ...sealed, id: 'acct_test', updated_at: now };
const payment = { ...place, id: 1, amount: 100, currency: 'usd' };
const refund = {
  ...{ ...place, id: 'ref_1', transaction_id: 'ch_1', payment_id: 1, amount: 40, currency: 'usd' },
  ...{ requester: 'key:key_test', api_key_id: 'key_test', initiated_by: 'api', reason: 'other' },
  ...{ status: 'processing', created_at: now, updated_at: now },
};
const event = {
  ...{ ...owner, id: 'evt_1', refund_id: 'ref_1', seq: 1, position: 1, type: 'refund.created' },
  ...{ actor: 'worker', status: 'processing', detail: '{}', created_at: now },
};
const work = { ...place, refund_id: 'ref_1', due_at: now };
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
  const live = { environment: 'live' };
  await insertRow(client, 'api_key', { ...key, ...live, id: 'key_live', hash: Buffer.alloc(32, 2) });
  await insertRow(client, 'processor_account', { ...account, id: 'acct_live', environment: 'live' });
  await insertRow(client, 'payment', { ...payment, environment: 'live', id: 3 });
  await insertRow(client, 'refund', refund);
  await insertRow(client, 'refund', { ...refund, id: 'ref_2' });
  await insertRow(client, 'refund_event', event);
  await insertRow(client, 'audit_log', auditEntry);
  const other = { organization_id: 'org_b' };
  await insertRow(client, 'organization', { id: 'org_b', name: 'B' });
  await insertRow(client, 'api_key', { ...key, ...other, id: 'key_b', hash: Buffer.alloc(32, 3) });
  await insertRow(client, 'processor_account', { ...account, ...other, id: 'acct_b' });
  await insertRow(client, 'payment', { ...payment, ...other, id: 4 });
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
        const live = { environment: 'live', payment_id: 3, api_key_id: 'key_live' };
        await insertRow(client, 'refund', { ...refund, id: 'ref_live', ...live, ...key });
        const elsewhere = { organization_id: 'org_b', payment_id: 4, api_key_id: 'key_b' };
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
    const row = { ...payment, id: 5, environment: 'live', processor: 'braintree' };
    await insertRow(client, 'processor_account', { ...account, id: 'acct_bt', processor: 'braintree' });
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
