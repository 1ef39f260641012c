import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { prepareDatabase } from '#prisma/prepare-database.ts';
import { grantServiceRole, tableRights } from '#prisma/service-role.ts';
import { query } from '../../support/stores/database-client.ts';
import { useOwnedDatabase } from '../../support/stores/owned-database.ts';

const database = useOwnedDatabase();

const prepare = (serviceUrl: string | null = database.serviceUrl, ownerUrl = database.ownerUrl) =>
  prepareDatabase({ ownerUrl, serviceUrl, redisUrl: null, log: () => {} });

const prepareAs = (ownerUrl: string, log: (line: string) => void = () => {}) =>
  grantServiceRole(ownerUrl, database.serviceUrl, log);

const databaseName = () => new URL(database.ownerUrl).pathname.slice(1);

const unsuitable = {
  ...{
    timezone: 'Pacific/Auckland',
    datestyle: 'SQL, DMY',
    default_transaction_isolation: 'repeatable read',
  },
  ...{ synchronous_commit: 'off', jit: 'on' },
};

let client: pg.Client;
beforeAll(async () => {
  for (const [name, value] of Object.entries(unsuitable))
    await query(database.ownerUrl, `ALTER DATABASE "${databaseName()}" SET ${name} = '${value}'`);
  await prepare();
  client = new pg.Client({ connectionString: database.serviceUrl });
  await client.connect();
});
afterAll(() => client.end());

/** Every right that PostgreSQL knows of a table. */
const possible = ['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER', 'MAINTAIN'];

/** The rights that the role of the service has on each table. */
async function rightsNow(): Promise<Record<string, string>> {
  const { rows } = await client.query<{ name: string; rights: string }>(
    `SELECT relname AS name, (SELECT coalesce(string_agg(r, ', ' ORDER BY n), '')
       FROM unnest($1::text[]) WITH ORDINALITY AS possible (r, n) WHERE has_table_privilege(c.oid, r)) AS rights
     FROM pg_class AS c WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')`,
    [possible],
  );
  return Object.fromEntries(rows.map(({ name, rights }) => [name, rights]));
}

/** What was decided. A new table needs an entry in `tableRights`. */
const decided = {
  _prisma_migrations: '',
  ...Object.fromEntries(
    Object.entries(tableRights).flatMap(([rights, tables]) => tables.map((table) => [table, rights])),
  ),
};

describe('the role of the service', () => {
  test('has exactly the rights that were decided for each table, and for history only SELECT and INSERT', async () => {
    expect(await rightsNow()).toEqual(decided);
    expect(decided).toMatchObject({ audit_log: 'SELECT, INSERT', refund_event: 'SELECT, INSERT' });
  });

  test('has the settings that refunds depend on also where a pooler ignores what its connections ask for', async () => {
    const { rows } = await client.query<{ settings: object }>(
      'SELECT json_object_agg(name, current_setting(name)) AS settings FROM unnest($1::text[]) AS name',
      [Object.keys(unsuitable)],
    );
    expect(rows).toEqual([
      {
        settings: {
          ...{ timezone: 'UTC', datestyle: 'ISO, MDY', default_transaction_isolation: 'read committed' },
          ...{ synchronous_commit: 'on', jit: 'off' },
        },
      },
    ]);
  });

  test('may execute every function and draw from every sequence, and set none', async () => {
    const { rows } = await client.query(
      `SELECT oid::regprocedure::text AS refused FROM pg_proc
       WHERE pronamespace IN ('public'::regnamespace, 'bullmq'::regnamespace) AND NOT has_function_privilege(oid, 'EXECUTE')
       UNION ALL SELECT oid::regclass::text FROM pg_class WHERE relkind = 'S'
         AND (NOT has_sequence_privilege(oid, 'USAGE') OR has_sequence_privilege(oid, 'UPDATE'))`,
    );
    expect(rows).toEqual([]);
  });

  test.each(['audit_log', 'refund_event'])('cannot rewrite the history in %s', async (table) => {
    for (const statement of [
      `UPDATE ${table} SET actor = 'someone else'`,
      `DELETE FROM ${table}`,
      `TRUNCATE ${table}`,
      `SELECT * FROM ${table} FOR UPDATE`,
      `MERGE INTO ${table} AS h USING (SELECT 1) AS one ON true WHEN MATCHED THEN DELETE`,
      `ALTER TABLE ${table} DISABLE TRIGGER ${table}_append_only`,
      `ALTER TABLE ${table} DISABLE TRIGGER ALL`,
      `DROP TRIGGER ${table}_append_only ON ${table}`,
      `CREATE RULE hide AS ON INSERT TO ${table} DO INSTEAD NOTHING`,
      `ALTER TABLE ${table} OWNER TO CURRENT_USER`,
      `COPY ${table} TO PROGRAM 'cat'`,
    ]) {
      await expect(client.query(statement), statement).rejects.toMatchObject({ code: '42501' });
    }
    await client.query(`GRANT UPDATE, DELETE ON ${table} TO CURRENT_USER`);
    expect((await rightsNow())[table]).toBe('SELECT, INSERT');
  });

  test.each([
    'CREATE TABLE mine (id INT)',
    // It would hide the audit log from what the connection does next.
    'CREATE TEMPORARY TABLE audit_log (id INT)',
    'CREATE SCHEMA mine',
    'CREATE FUNCTION mine() RETURNS INT LANGUAGE sql AS $$ SELECT 1 $$',
    'CREATE OR REPLACE FUNCTION service_time() RETURNS timestamptz LANGUAGE sql AS $$ SELECT now() $$',
    'CREATE TRIGGER mine BEFORE INSERT ON refund EXECUTE FUNCTION refuse_change_of_history()',
    'CREATE ROLE mine',
    'ALTER TABLE payment DROP CONSTRAINT payment_pkey CASCADE',
    "SELECT setval('lease_token', 1)",
    'DROP TABLE refund_work',
    'SELECT * FROM _prisma_migrations',
    "SET session_replication_role = 'replica'",
    "SELECT set_config('session_replication_role', 'replica', false)",
    "SELECT pg_read_file('/etc/passwd')",
  ])('is refused %s', async (statement) => {
    await expect(client.query(statement)).rejects.toMatchObject({ code: '42501' });
  });

  // A cascade runs with the rights of the tables' owner.
  test('cannot move history by changing the id of what it belongs to', async () => {
    const { rows } = await client.query(
      `SELECT conname FROM pg_constraint WHERE contype = 'f' AND confupdtype NOT IN ('r', 'a')
         AND conrelid IN ('audit_log'::regclass, 'refund_event'::regclass)`,
    );
    expect(rows).toEqual([]);
    await query(
      database.ownerUrl,
      `INSERT INTO organization (id, name, created_at) VALUES ('org_a', 'Acme', now());
       INSERT INTO audit_log (id, organization_id, actor, action, target, detail, created_at)
       VALUES ('aud_a', 'org_a', 'cli:ada', 'organization.created', 'org_a', '{}', now())`,
    );
    await client.query(`SET refunds.erasure = 'on'`);
    await expect(client.query(`UPDATE organization SET id = 'org_b'`)).rejects.toMatchObject({
      code: '23001',
    });
    await client.query('RESET refunds.erasure');
  });

  test('cannot become the owner', async () => {
    const owner = pg.escapeIdentifier(new URL(database.ownerUrl).username);
    await expect(client.query(`SET ROLE ${owner}`)).rejects.toMatchObject({ code: '42501' });
    await expect(client.query(`SET SESSION AUTHORIZATION ${owner}`)).rejects.toMatchObject({ code: '42501' });
  });
});

describe('the migration', () => {
  test('lets a running service use a table, a sequence and a function of a later migration at once', async () => {
    await query(
      database.ownerUrl,
      `CREATE TABLE later (id BIGSERIAL PRIMARY KEY, note TEXT);
       CREATE FUNCTION count_later() RETURNS BIGINT LANGUAGE sql AS $$ SELECT count(*) FROM later $$`,
    );
    try {
      await client.query(`INSERT INTO later (note) VALUES ('first'), ('second')`);
      await client.query(`UPDATE later SET note = 'third'; DELETE FROM later WHERE id = 1`);
      expect((await client.query('SELECT count_later() AS count')).rows).toEqual([{ count: '1' }]);
      await expect(client.query('DROP TABLE later')).rejects.toMatchObject({ code: '42501' });
      // Without a decision about its rights, the test above fails.
      expect(await rightsNow()).not.toEqual(decided);
    } finally {
      await query(database.ownerUrl, 'DROP FUNCTION count_later(); DROP TABLE later');
    }
  });

  test('may run again, and takes back rights that were given by hand', async () => {
    const role = new URL(database.serviceUrl).username;
    await query(database.ownerUrl, `GRANT ALL ON audit_log, payment TO ${role}`);
    await query(database.ownerUrl, `GRANT CREATE ON SCHEMA public TO ${role}`);
    await query(database.ownerUrl, `GRANT CREATE ON SCHEMA public TO PUBLIC`);
    expect(await prepare()).toEqual([]);
    expect(await rightsNow()).toEqual(decided);
    await expect(client.query('CREATE TABLE mine (id INT)')).rejects.toMatchObject({ code: '42501' });
  });

  test('grants a role that was made by hand, as an owner who cannot create roles', async () => {
    const made = roleUrl('made_by_hand');
    await asSuperuser(`CREATE ROLE ${made.username} LOGIN PASSWORD '${made.password}'`);
    await asSuperuser(`ALTER ROLE ${new URL(database.ownerUrl).username} NOCREATEROLE`);
    try {
      await prepare(made.href);
      await query(made.href, 'SELECT id FROM refund');
      const missing = roleUrl('missing');
      const error = await prepare(missing.href).catch(String);
      expect(error).toContain(`"${missing.username}" of DATABASE_URL does not exist and cannot be created`);
      expect(error).not.toContain(missing.password);
    } finally {
      await asSuperuser(`ALTER ROLE ${new URL(database.ownerUrl).username} CREATEROLE`);
    }
  });

  test.each([
    ['is a superuser', () => 'SUPERUSER'],
    ['can create roles', () => 'CREATEROLE'],
    ['is a member of the owner', () => `IN ROLE ${new URL(database.ownerUrl).username}`],
    ['may write every table', () => 'IN ROLE pg_write_all_data'],
  ])('refuses a role of the service that %s', async (_, attributes) => {
    const role = roleUrl('careless');
    await asSuperuser(`CREATE ROLE ${role.username} LOGIN PASSWORD '${role.password}' ${attributes()}`);
    await expect(prepare(role.href)).rejects.toThrow('Give the service a role of its own');
  });

  test.each([
    ['may read every table', 'pg_read_all_data', ''],
    ['takes its rights only with SET ROLE', 'pg_read_all_settings', 'WITH INHERIT FALSE'],
  ])(
    'refuses a role that is in another one, which %s, and names the statement that ends it',
    async (_, other, how) => {
      const role = roleUrl('member');
      await asSuperuser(`CREATE ROLE ${role.username} LOGIN PASSWORD '${role.password}'`);
      await asSuperuser(`GRANT ${other} TO ${role.username} ${how}`);
      const error = await prepare(role.href).catch(String);
      const [, remedy = ''] = /run (REVOKE .*) as an administrator/.exec(String(error)) ?? [];
      expect(remedy).toBe(`REVOKE ${other} FROM "${role.username}"`);
      await asSuperuser(remedy);
      expect(await prepare(role.href)).toEqual([]);
    },
  );

  test('names what a role of the service owns, such as a large object that it made', async () => {
    const { rows } = await client.query('SELECT lo_create(0) AS id');
    const { id } = rows[0];
    await expect(prepare()).rejects.toThrow(`owns large object ${id} (drop it as that role)`);
    await client.query('SELECT lo_unlink($1)', [id]);
    expect(await prepare()).toEqual([]);
  });

  // As PostgreSQL 14 makes the schema, and pg_upgrade leaves it.
  test('names what closes a schema that every role may write, after which the owner can still migrate', async () => {
    await query(
      superuserUrlHere(),
      'ALTER SCHEMA public OWNER TO postgres; GRANT ALL ON SCHEMA public TO PUBLIC',
    );
    const error = await prepare().catch(String);
    const [, remedy = ''] = /run (GRANT .*?) as an administrator/.exec(String(error)) ?? [];
    await query(superuserUrlHere(), remedy);
    expect(await prepare()).toEqual([]);
    await expect(client.query('CREATE TABLE mine (id INT)')).rejects.toMatchObject({ code: '42501' });
  });

  test('as a superuser, lets the service make no large objects', async () => {
    await prepareAs(superuserUrlHere());
    for (const statement of ['SELECT lo_create(0)', 'SELECT lo_creat(-1)', "SELECT lo_from_bytea(0, '')"]) {
      await expect(client.query(statement), statement).rejects.toMatchObject({ code: '42501' });
    }
    // A later run of an owner who is none leaves it so.
    expect(await prepare()).toEqual([]);
  });

  test('removes the settings that the role of the service has stored for itself, and names them', async () => {
    const name = `"${new URL(database.serviceUrl).username}"`;
    await client.query(`ALTER ROLE ${name} SET search_path = 'elsewhere'`);
    await asSuperuser(`ALTER ROLE ${name} SET jit = off`);
    const lines: string[] = [];
    await prepareAs(database.ownerUrl, (line) => lines.push(line));
    expect(lines.join()).toContain('The setting search_path of the database role');
    const { rows } = await client.query(
      'SELECT setconfig FROM pg_db_role_setting WHERE setrole = current_user::regrole',
    );
    expect(rows).toEqual([{ setconfig: ['jit=off'] }]);
  });

  test('refuses the owner as the role of the service', async () => {
    await expect(prepare(database.ownerUrl)).rejects.toThrow('Give the service a role of its own');
  });
});

function roleUrl(name: string): URL {
  const url = new URL(database.serviceUrl);
  url.username = `${name}_${randomBytes(4).toString('hex')}`;
  return url;
}

function superuserUrlHere(): string {
  const url = new URL(inject('postgresUrl'));
  url.pathname = databaseName();
  return url.href;
}

async function asSuperuser(statement: string): Promise<void> {
  await query(inject('postgresUrl'), statement);
}
