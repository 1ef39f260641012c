import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useDatabase } from '../../support/stores/database.ts';
import { insertRow, type Row } from '../../support/stores/database-client.ts';

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
const payment = {
  organization_id: 'org_a',
  environment: 'test',
  processor: 'stripe',
  id: 1,
  amount: 100,
  currency: 'usd',
};
const refund = {
  id: 'ref_1',
  organization_id: 'org_a',
  environment: 'test',
  processor: 'stripe',
  transaction_id: 'ch_1',
  payment_id: 1,
  requester: 'key:key_test',
  api_key_id: 'key_test',
  amount: 40,
  currency: 'usd',
  reason: 'other',
  status: 'processing',
  initiated_by: 'api',
  created_at: now,
  updated_at: now,
};
const event = {
  id: 'evt_1',
  refund_id: 'ref_1',
  seq: 1,
  type: 'refund.created',
  organization_id: 'org_a',
  environment: 'test',
  position: 1,
  actor: 'worker',
  status: 'processing',
  detail: '{}',
  created_at: now,
};
const work = {
  refund_id: 'ref_1',
  organization_id: 'org_a',
  environment: 'test',
  processor: 'stripe',
  due_at: now,
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

const user = { id: 'usr_1', email: 'grace@example.com', password_hash: 'none', created_at: now };
const session = {
  id: 'ses_1',
  user_id: 'usr_1',
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
  organization: { id: 'org_new', name: 'New' },
  api_key: { ...key, id: 'key_new', hash: Buffer.alloc(32, 9) },
  payment: { ...payment, id: 2 },
  refund: { ...refund, id: 'ref_new' },
  refund_work: { ...work, refund_id: 'ref_2' },
  refund_event: { ...event, id: 'evt_new', seq: 2, position: 2 },
  session,
  lockout,
  invitation: { ...invitation, id: 'inv_new', token_hash: Buffer.alloc(32, 7), email: 'new@example.com' },
  webhook_cursor: { id: 1, position: 1 },
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
  ['payment_currency_three_lowercase_letters', 'payment', { currency: 'us' }],
  ['payment_amount_with_currency', 'payment', { amount: null }],
  ['payment_amount_with_currency', 'payment', { currency: null }],
  ['refund_id_is_refund_typeid', 'refund', { id: 'rfd_1' }],
  ['refund_id_is_refund_typeid', 'refund', { id: 'ref_A' }],
  ['refund_amount_positive', 'refund', { amount: 0 }],
  ['refund_amount_positive', 'refund', { amount: -40 }],
  ['refund_currency_three_lowercase_letters', 'refund', { currency: 'EUR' }],
  ['refund_completed_names_processor_refund', 'refund', { status: 'completed' }],
  ['refund_failed_says_why', 'refund', { status: 'failed' }],
  ['refund_idempotency_key_length', 'refund', { idempotency_key: '', fingerprint }],
  ['refund_idempotency_key_length', 'refund', { idempotency_key: 'k'.repeat(256), fingerprint }],
  ['refund_idempotency_key_has_fingerprint', 'refund', { idempotency_key: 'k' }],
  ['refund_idempotency_key_has_fingerprint', 'refund', { fingerprint }],
  ['refund_fingerprint_is_sha256', 'refund', { idempotency_key: 'k', fingerprint: Buffer.alloc(31) }],
  ['refund_work_is_due_or_flagged', 'refund_work', { due_at: null }],
  ['refund_work_flag_says_why', 'refund_work', { flagged_at: now }],
  ['refund_work_flag_says_why', 'refund_work', { flag_reason: 'outcome_unknown' }],
  ['refund_work_facts_need_flag', 'refund_work', { flag_facts: { message: 'No answer' } }],
  ['refund_work_lease_has_token', 'refund_work', { leased_until: now }],
  ['refund_work_failures_not_negative', 'refund_work', { consecutive_failures: -1 }],
  ['refund_work_attempts_not_negative', 'refund_work', { attempt_number: -1 }],
  ['refund_work_idempotency_key_version_from_one', 'refund_work', { idempotency_key_version: 0 }],
  ['refund_work_open_attempt_is_unknown', 'refund_work', { attempt_number: 1, attempt_started_at: now }],
  ['refund_work_open_attempt_is_unknown', 'refund_work', { unknown_since: now, attempt_started_at: now }],
  ['refund_event_seq_from_one', 'refund_event', { seq: 0 }],
  ['refund_event_public_in_feed', 'refund_event', { position: null }],
  ['refund_event_public_in_feed', 'refund_event', { organization_id: null }],
  ['refund_event_public_in_feed', 'refund_event', { environment: null }],
  ['refund_event_public_in_feed', 'refund_event', { type: 'attempt.unknown' }],
  ['api_key_hash_is_sha256', 'api_key', { hash: Buffer.alloc(31) }],
  ['api_key_last_four_is_four', 'api_key', { last_four: 'abc' }],
  ['session_hash_is_sha256', 'session', { hash: Buffer.alloc(20) }],
  ['session_user_agent_length', 'session', { user_agent: 'u'.repeat(301) }],
  ['lockout_subject_is_sha256', 'lockout', { subject: Buffer.alloc(20) }],
  ['lockout_failures_from_zero', 'lockout', { failures: -1 }],
  ['invitation_token_hash_is_sha256', 'invitation', { token_hash: Buffer.alloc(20) }],
  ['invitation_ends_once', 'invitation', { accepted_at: now, revoked_at: now }],
  ['webhook_cursor_one_row', 'webhook_cursor', { id: 2 }],
  ['organization_four_eyes_days', 'organization', { four_eyes_days: -1 }],
  ['organization_four_eyes_days', 'organization', { four_eyes_days: 91 }],
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
  await insertRow(client, 'api_key', {
    ...key,
    id: 'key_live',
    environment: 'live',
    hash: Buffer.alloc(32, 2),
  });
  await insertRow(client, 'processor_account', { ...account, id: 'acct_live', environment: 'live' });
  await insertRow(client, 'payment', { ...payment, environment: 'live', id: 3 });
  await insertRow(client, 'refund', refund);
  await insertRow(client, 'refund', { ...refund, id: 'ref_2' });
  await insertRow(client, 'refund_event', event);
  await insertRow(client, 'audit_log', auditEntry);
  await insertRow(client, 'user', user);
  await insertRow(client, 'invitation', invitation);
  const other = { organization_id: 'org_b' };
  await insertRow(client, 'organization', { id: 'org_b', name: 'B' });
  await insertRow(client, 'api_key', { ...key, ...other, id: 'key_b', hash: Buffer.alloc(32, 3) });
  await insertRow(client, 'processor_account', { ...account, ...other, id: 'acct_b' });
  await insertRow(client, 'payment', { ...payment, ...other, id: 4 });
});

afterAll(() => client.end());

describe('a CHECK constraint', () => {
  for (const [constraint, table, change] of violations) {
    test(`${constraint} refuses ${shown(change)}`, async () => {
      const row = { ...examples[table], ...change };
      await expect(insertRow(client, table, row)).rejects.toMatchObject({ code: '23514', constraint });
    });
  }

  test('has a case here, each of them', async () => {
    const { rows } = await client.query<{ conname: string }>(
      `select conname from pg_constraint where contype = 'c' and connamespace = 'public'::regnamespace`,
    );
    const tried = new Set(violations.map(([constraint]) => constraint));
    expect(rows.map((row) => row.conname).sort()).toEqual([...tried].sort());
  });
});

test('refuses a second open invitation of an address in an organization', async () => {
  const second = { ...examples.invitation, email: 'ada@example.com' };
  await expect(insertRow(client, 'invitation', second)).rejects.toMatchObject({
    code: '23505',
    constraint: 'invitation_one_open_per_address',
  });
});

describe('an idempotency key', () => {
  const bound = { idempotency_key: 'bound', fingerprint };

  test.for([
    ['made', bound, 'refund_idempotency_key'],
    ['cancelled', { cancel_key: 'bound' }, 'refund_cancel_key'],
  ] as const)(
    'has %s one refund of its organization and environment at most',
    async ([, key, constraint]) => {
      await client.query('begin');
      try {
        await insertRow(client, 'refund', { ...refund, id: 'ref_first', ...key });
        await insertRow(client, 'refund', {
          ...{
            ...refund,
            id: 'ref_live',
            environment: 'live',
            payment_id: 3,
            api_key_id: 'key_live',
          },
          ...key,
        });
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
    client.query('select outcome from record_refunds($1)', [
      JSON.stringify([
        {
          ...{ refund_id: 'ref_2', lease_token: 7, expected: 'processing', entries: [], change: {} },
          ...finding,
        },
      ]),
    ]);

  test('cannot be left without a due time', async () => {
    const held = { ...work, refund_id: 'ref_2', leased_until: new Date('2100-01-01'), lease_token: 7 };
    await insertRow(client, 'refund_work', held);
    const forgets = 'Refund ref_2 is processing and would never be due again';
    await expect(record({})).rejects.toThrow(forgets);
    await expect(record({ flag: { reason: 'outcome_unknown' } })).rejects.toThrow(forgets);
    const { rows } = await client.query(
      `select due_at, lease_token from refund_work where refund_id = 'ref_2'`,
    );
    expect(rows).toEqual([{ due_at: now, lease_token: '7' }]);
  });
});

describe('a cancellation', () => {
  const leased = { unknown_since: now, leased_until: new Date('2100-01-01'), lease_token: 9 };
  const cancel = async (key: string) => {
    const asked = {
      refund_id: 'ref_1',
      organization_id: 'org_a',
      environment: 'test',
      actor: 'key:key_test',
    };
    const { rows } = await client.query('select outcome from cancel_refund($1)', [
      JSON.stringify({ ...asked, key, event_id: `evt_${key}` }),
    ]);
    return rows[0].outcome;
  };

  test('keeps the key of the first request', async () => {
    await insertRow(client, 'refund_work', { ...work, ...leased });
    expect([await cancel('first'), await cancel('second'), await cancel('first')]).toEqual([
      'requested',
      'requested',
      'replayed',
    ]);
  });

  test('that is requested during a lease is due when the lease ends, also with a resync', async () => {
    await client.query(`select request_resync('ref_1')`);
    await client.query('select record_refunds($1)', [
      JSON.stringify([
        {
          ...{ refund_id: 'ref_1', lease_token: 9, expected: 'processing', due_in_ms: 3_600_000 },
          entries: [{ event_id: 'evt_9', type: 'attempt.accepted', to: 'processing', detail: {} }],
          change: { external_refund_id: 're_1', processor_status: 'pending' },
        },
      ]),
    ]);
    const { rows } = await client.query(
      `select due_at <= service_time() as "isDue" from refund_work where refund_id = 'ref_1'`,
    );
    expect(rows).toEqual([{ isDue: true }]);
  });
});

function shown(change: Row): string {
  const text = (value: unknown) => (Buffer.isBuffer(value) ? `${value.length} bytes` : JSON.stringify(value));
  const parts = Object.entries(change).map(([column, value]) => `${column} ${text(value)}`);
  return parts.join(', ').replace(/"(k{99,})"/, (_, key) => `of ${key.length} characters`);
}
