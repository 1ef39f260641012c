import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useDatabase } from '../harness/database.ts';
import { insertRow, type Row } from '../harness/insert-row.ts';

const now = new Date('2026-01-01T00:00:00Z');

const organization = { id: 'org_a', name: 'A' };
const key = {
  id: 'key_test',
  organization_id: 'org_a',
  environment: 'test',
  hash: Buffer.alloc(32, 1),
  last_four: 'abcd',
  created_by: 'someone',
};
const account = {
  id: 'acct_test',
  organization_id: 'org_a',
  environment: 'test',
  processor: 'stripe',
  encrypted_credentials: Buffer.from('x'),
  encryption_key_id: 'k1',
  updated_at: now,
};
const transaction = {
  organization_id: 'org_a',
  environment: 'test',
  processor: 'stripe',
  transaction_id: 'ch_1',
  amount: 100,
  currency: 'usd',
};
const refund = {
  id: 'ref_1',
  organization_id: 'org_a',
  environment: 'test',
  processor: 'stripe',
  transaction_id: 'ch_1',
  api_key_id: 'key_test',
  amount: 40,
  currency: 'usd',
  reason: 'other',
  status: 'processing',
  next_action_at: now,
  initiated_by: 'api',
  created_at: now,
  updated_at: now,
};
const event = {
  id: 'evt_1',
  refund_id: 'ref_1',
  seq: 1,
  type: 'refund.created',
  actor: 'worker',
  status: 'processing',
  detail: '{}',
  created_at: now,
};
const idempotencyKey = {
  organization_id: 'org_a',
  environment: 'test',
  key: 'k',
  fingerprint: Buffer.alloc(32),
  created_at: now,
};
const auditEntry = {
  id: 'aud_1',
  organization_id: 'org_a',
  actor: 'someone',
  action: 'a',
  target: 't',
  detail: '{}',
  created_at: now,
};

const session = {
  id: 'ses_1',
  hash: Buffer.alloc(32, 4),
  data: '{}',
  created_at: now,
  last_seen_at: now,
  expires_at: now,
};
const lockout = { subject: Buffer.alloc(32, 5), failures: 1, last_failed_at: now };
const invitation = {
  id: 'inv_1',
  organization_id: 'org_a',
  email: 'ada@example.com',
  role: 'viewer',
  token_hash: Buffer.alloc(32, 6),
  invited_by: 'someone',
  created_at: now,
  expires_at: now,
};

/** One good row of each table that has guards; a test changes what it is about. */
const examples = {
  api_key: { ...key, id: 'key_new', hash: Buffer.alloc(32, 9) },
  transaction: { ...transaction, transaction_id: 'ch_new' },
  refund: { ...refund, id: 'ref_new' },
  refund_event: { ...event, id: 'evt_new', seq: 2 },
  idempotency_key: { ...idempotencyKey, key: 'new' },
  session,
  lockout,
  invitation: { ...invitation, id: 'inv_new', token_hash: Buffer.alloc(32, 7), email: 'new@example.com' },
};

type Table = keyof typeof examples;

const idle = { next_action_at: null };

const violations: [constraint: string, table: Table, change: Row][] = [
  ['transaction_amount_positive', 'transaction', { amount: 0 }],
  ['transaction_reserved_not_negative', 'transaction', { reserved: -1 }],
  ['transaction_refunded_outside_not_negative', 'transaction', { refunded_outside: -1 }],
  ['transaction_not_over_refunded', 'transaction', { reserved: 101 }],
  ['transaction_not_over_refunded', 'transaction', { refunded_outside: 101 }],
  ['transaction_not_over_refunded', 'transaction', { reserved: 60, refunded_outside: 41 }],
  ['transaction_currency_three_lowercase_letters', 'transaction', { currency: 'USD' }],
  ['transaction_currency_three_lowercase_letters', 'transaction', { currency: 'us' }],
  ['transaction_amount_with_currency', 'transaction', { amount: null }],
  ['transaction_amount_with_currency', 'transaction', { currency: null }],
  ['refund_id_is_refund_typeid', 'refund', { id: 'rfd_1' }],
  ['refund_id_is_refund_typeid', 'refund', { id: 'ref_A' }],
  ['refund_amount_positive', 'refund', { amount: 0 }],
  ['refund_amount_positive', 'refund', { amount: -40 }],
  ['refund_currency_three_lowercase_letters', 'refund', { currency: 'EUR' }],
  ['refund_attempt_count_not_negative', 'refund', { attempt_count: -1 }],
  ['refund_key_series_from_one', 'refund', { key_series: 0 }],
  ['refund_fencing_token_not_negative', 'refund', { fencing_token: -1 }],
  ['refund_due_while_processing', 'refund', idle],
  ['refund_due_while_processing', 'refund', { status: 'pending' }],
  ['refund_due_while_processing', 'refund', { status: 'completed', external_refund_id: 're_1' }],
  ['refund_due_while_processing', 'refund', { status: 'failed', failure_code: 'declined' }],
  ['refund_due_while_processing', 'refund', { status: 'cancelled' }],
  ['refund_pending_never_sent', 'refund', { ...idle, status: 'pending', attempt_count: 1 }],
  ['refund_completed_names_processor_refund', 'refund', { ...idle, status: 'completed' }],
  ['refund_extra_refund_is_flagged', 'refund', { extra_refund_id: 're_2' }],
  ['refund_failed_says_why', 'refund', { ...idle, status: 'failed' }],
  ['refund_event_seq_from_one', 'refund_event', { seq: 0 }],
  ['api_key_hash_is_sha256', 'api_key', { hash: Buffer.alloc(31) }],
  ['api_key_last_four_is_four', 'api_key', { last_four: 'abc' }],
  ['idempotency_key_length', 'idempotency_key', { key: '' }],
  ['idempotency_key_length', 'idempotency_key', { key: 'k'.repeat(256) }],
  ['idempotency_key_answer_whole', 'idempotency_key', { status_code: 200 }],
  ['idempotency_key_answer_whole', 'idempotency_key', { body: '{}' }],
  ['session_hash_is_sha256', 'session', { hash: Buffer.alloc(20) }],
  ['session_user_agent_length', 'session', { user_agent: 'u'.repeat(301) }],
  ['lockout_subject_is_sha256', 'lockout', { subject: Buffer.alloc(20) }],
  ['lockout_failures_from_one', 'lockout', { failures: 0 }],
  ['invitation_token_hash_is_sha256', 'invitation', { token_hash: Buffer.alloc(20) }],
  ['invitation_ends_once', 'invitation', { accepted_at: now, revoked_at: now }],
];

/** Rows at the edge of what is refused. */
const allowed: [what: string, table: Table, change: Row][] = [
  ['a payment that the processor was not yet asked about', 'transaction', { amount: null, currency: null }],
  ['a reservation on such a payment', 'transaction', { amount: null, currency: null, reserved: 500 }],
  ['a payment refunded to the last cent', 'transaction', { reserved: 60, refunded_outside: 40 }],
  ['a refund under its second processor key', 'refund', { attempt_count: 3, key_series: 2 }],
  ['a refund that waits for approval', 'refund', { ...idle, status: 'pending' }],
  ['a completed refund', 'refund', { ...idle, status: 'completed', external_refund_id: 're_1' }],
  ['a failed refund', 'refund', { ...idle, status: 'failed', failure_code: 'declined' }],
  ['a cancelled refund', 'refund', { ...idle, status: 'cancelled' }],
  ['a refund without an API key', 'refund', { api_key_id: null }],
  ['the second event of a refund', 'refund_event', {}],
  ['another API key', 'api_key', {}],
  ['the longest idempotency key', 'idempotency_key', { key: 'k'.repeat(255) }],
  ['an answered idempotency key', 'idempotency_key', { status_code: 200, body: '{}' }],
  ['a session before anybody has signed in', 'session', {}],
  ['the longest user agent', 'session', { user_agent: 'u'.repeat(300) }],
  ['a first failure', 'lockout', {}],
  ['an invitation of another address', 'invitation', {}],
  ['an invitation next to one that is not open', 'invitation', { email: 'ada@example.com', revoked_at: now }],
];

const elsewhere: [what: string, constraint: RegExp, change: Row][] = [
  ['a live key', /^refund_api_key/, { api_key_id: 'key_live' }],
  ["another organization's key", /^refund_api_key/, { api_key_id: 'key_b' }],
  ['a live transaction', /^refund_organization/, { transaction_id: 'ch_live' }],
  ["another organization's transaction", /^refund_organization/, { transaction_id: 'ch_b' }],
];

const url = useDatabase();
let client: pg.Client;

beforeAll(async () => {
  client = new pg.Client({ connectionString: url() });
  await client.connect();
  await insertRow(client, 'organization', organization);
  await insertRow(client, 'api_key', key);
  await insertRow(client, 'processor_account', account);
  await insertRow(client, 'transaction', transaction);
  await insertRow(client, 'api_key', {
    ...key,
    id: 'key_live',
    environment: 'live',
    hash: Buffer.alloc(32, 2),
  });
  await insertRow(client, 'processor_account', { ...account, id: 'acct_live', environment: 'live' });
  await insertRow(client, 'transaction', { ...transaction, environment: 'live', transaction_id: 'ch_live' });
  await insertRow(client, 'refund', refund);
  await insertRow(client, 'refund_event', event);
  await insertRow(client, 'audit_log', auditEntry);
  await insertRow(client, 'invitation', invitation);
  const other = { organization_id: 'org_b' };
  await insertRow(client, 'organization', { id: 'org_b', name: 'B' });
  await insertRow(client, 'api_key', { ...key, ...other, id: 'key_b', hash: Buffer.alloc(32, 3) });
  await insertRow(client, 'processor_account', { ...account, ...other, id: 'acct_b' });
  await insertRow(client, 'transaction', { ...transaction, ...other, transaction_id: 'ch_b' });
});

afterAll(() => client.end());

describe('a CHECK constraint', () => {
  for (const [constraint, table, change] of violations) {
    test(`${constraint} refuses ${shown(change)}`, async () => {
      const row = { ...examples[table], ...change };
      await expect(insertRow(client, table, row)).rejects.toMatchObject({ code: '23514', constraint });
    });
  }

  test.for(allowed)('lets pass %s', async ([, table, change]) => {
    await client.query('begin');
    try {
      await insertRow(client, table, { ...examples[table], ...change });
    } finally {
      await client.query('rollback');
    }
  });

  test('is tried here, whichever it is', async () => {
    const { rows } = await client.query<{ conname: string }>(
      `select conname from pg_constraint where contype = 'c' and connamespace = 'public'::regnamespace`,
    );
    const tried = new Set(violations.map(([constraint]) => constraint));
    expect(rows.map((row) => row.conname).sort()).toEqual([...tried].sort());
  });
});

test('an address has one open invitation per organization at most', async () => {
  const second = { ...examples.invitation, email: 'ada@example.com' };
  await expect(insertRow(client, 'invitation', second)).rejects.toMatchObject({
    code: '23505',
    constraint: 'invitation_one_open_per_address',
  });
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
});

describe('test and live, and one organization and another,', () => {
  test.for(elsewhere)('never mix: a test refund cannot stand on %s', async ([, constraint, change]) => {
    const row = { ...refund, id: 'ref_new', ...change };
    await expect(insertRow(client, 'refund', row)).rejects.toMatchObject({
      code: '23503',
      constraint: expect.stringMatching(constraint),
    });
  });

  test('never mix: a transaction needs an account of its own environment', async () => {
    const row = { ...transaction, environment: 'live', processor: 'braintree' };
    await insertRow(client, 'processor_account', { ...account, id: 'acct_bt', processor: 'braintree' });
    await expect(insertRow(client, 'transaction', row)).rejects.toMatchObject({ code: '23503' });
    await insertRow(client, 'transaction', { ...row, environment: 'test' });
  });

  test('never mix: a refund and its key do not move to the other environment together or alone', async () => {
    for (const table of ['refund', 'api_key']) {
      const move = client.query(`update ${table} set environment = 'live' where environment = 'test'`);
      await expect(move).rejects.toMatchObject({ code: '23503' });
    }
  });
});

function shown(change: Row): string {
  const text = (value: unknown) => (Buffer.isBuffer(value) ? `${value.length} bytes` : JSON.stringify(value));
  const parts = Object.entries(change).map(([column, value]) => `${column} ${text(value)}`);
  return parts.join(', ').replace(/"(k{99,})"/, (_, key) => `of ${key.length} characters`);
}
