import pg from 'pg';
import { connectionSettings, databaseSettings } from '#shared/platform/database.ts';
import { MigrationError, reasonOf, withLock } from './migrate.ts';

const everything = 'SELECT, INSERT, UPDATE, DELETE';
const tables = (names: string) => names.split(' ');

/** What the service may do with each table. History can only be added to. */
export const tableRights = {
  'SELECT, INSERT': tables('audit_log refund_event timeline_root'),
  'SELECT, INSERT, UPDATE': tables(
    'api_key identity_provider operation_calls organization payment_name processor_account recovery refund user webhook_cursor',
  ),
  [everything]: tables(
    'company_account failed_request invitation lockout mailed_link membership notification notification_channel payment policy processor_event reconciliation_finding reconciliation_run ' +
      'refund_batch refund_batch_row refund_work second_factor session webhook_delivery webhook_endpoint worker',
  ),
};

/**
 * Gives the user of `serviceUrl` what the API and the worker need, and no right to change the schema or the history. Creates
 * the user if it does not exist.
 *
 * @param ownerUrl the migrated database as the owner of its tables.
 * @throws MigrationError when the user cannot be created, or has rights that undo the protection.
 */
export async function grantServiceRole(
  ownerUrl: string,
  serviceUrl: string,
  log: (line: string) => void = () => {},
): Promise<void> {
  const { user = '', password } = new pg.Client({ connectionString: serviceUrl });
  await withLock(ownerUrl, log, async (client) => {
    await createIfMissing(client, user, password);
    try {
      await client.query('BEGIN');
      for (const statement of await grantsTo(client, user)) await client.query(statement);
      await client.query('COMMIT');
    } catch (error) {
      throw new MigrationError(
        `The database role "${user}" could not be given its rights: ${reasonOf(error)}`,
      );
    }
    await refuseMemberships(client, user);
    await refuseExcess(client, user);
    await resetSettings(client, user, log);
  });
}

async function createIfMissing(
  client: pg.Client,
  user: string,
  password: string | null | undefined,
): Promise<void> {
  const { rows } = await client.query<{ exists: boolean; creates: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1) AS exists, rolsuper OR rolcreaterole AS creates
     FROM pg_roles WHERE rolname = current_user`,
    [user],
  );
  if (rows[0]?.exists) return;
  // PostgreSQL would log a refused statement with the password.
  if (!rows[0]?.creates || !password) {
    throw new MigrationError(
      `The database role "${user}" of DATABASE_URL does not exist and cannot be created. Create it with LOGIN and a ` +
        'password, without further rights, and run the migration again.',
    );
  }
  await client.query(`CREATE ROLE ${pg.escapeIdentifier(user)} LOGIN PASSWORD ${pg.escapeLiteral(password)}`);
}

async function grantsTo(client: pg.Client, user: string): Promise<string[]> {
  const { rows } = await client.query<{
    database: string;
    schemas: string[];
    functions: string[];
    makers: string[];
  }>(
    `SELECT quote_ident(current_database()) AS database, array_agg(quote_ident(nspname)) AS schemas,
            -- What makes large objects. Only a superuser may take these functions away.
            (SELECT coalesce(array_agg(f.oid::regprocedure::text), '{}') FROM pg_proc AS f
             WHERE f.pronamespace = 'pg_catalog'::regnamespace AND f.proname IN ('lo_creat', 'lo_create', 'lo_from_bytea')
               AND (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)) AS makers,
            -- Those of extensions belong to others.
            (SELECT coalesce(array_agg(f.oid::regprocedure::text), '{}') FROM pg_proc AS f
             WHERE f.pronamespace = ANY (array_agg(n.oid)) AND f.proowner = current_user::regrole) AS functions
     FROM pg_namespace AS n WHERE nspname IN (current_schema(), 'bullmq')`,
  );
  const [{ database = '', schemas = [], functions = [], makers = [] } = {}] = rows;
  const role = pg.escapeIdentifier(user);
  const own = `ALTER DEFAULT PRIVILEGES IN SCHEMA ${schemas.join(', ')} GRANT`;
  return [
    // Connections ask for them, too, but a pooler may ignore that, and would shift times that are written without an offset.
    ...Object.entries(databaseSettings).map(
      ([name, value]) => `ALTER DATABASE ${database} SET ${name} = ${pg.escapeLiteral(value)}`,
    ),
    `GRANT CONNECT ON DATABASE ${database} TO ${role}`,
    // A temporary table would hide the audit log from the statements of its connection.
    `REVOKE CREATE, TEMPORARY ON DATABASE ${database} FROM PUBLIC, ${role}`,
    `REVOKE CREATE ON SCHEMA ${schemas.join(', ')} FROM PUBLIC, ${role}`,
    `GRANT USAGE ON SCHEMA ${schemas.join(', ')} TO ${role}`,
    `GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA ${schemas.join(', ')} TO ${role}`,
    // Running processes use what a migration adds before its rights are set here.
    `${own} ${everything} ON TABLES TO ${role}`,
    `${own} USAGE, SELECT ON SEQUENCES TO ${role}`,
    `${own} EXECUTE ON FUNCTIONS TO ${role}`,
    ...(functions.length === 0 ? [] : [`GRANT EXECUTE ON ROUTINE ${functions.join(', ')} TO ${role}`]),
    // A large object would be the service's own: no right that is taken away here could protect it.
    ...makers.map((maker) => `REVOKE EXECUTE ON FUNCTION ${maker} FROM PUBLIC, ${role}`),
    `REVOKE ALL ON _prisma_migrations FROM ${role}`,
    ...Object.entries(tableRights).flatMap(([rights, tables]) => {
      const names = tables.map((table) => pg.escapeIdentifier(table)).join(', ');
      return [`REVOKE ALL ON ${names} FROM ${role}`, `GRANT ${rights} ON ${names} TO ${role}`];
    }),
    ...(schemas.includes('bullmq') ? [`GRANT ${everything} ON ALL TABLES IN SCHEMA bullmq TO ${role}`] : []),
  ];
}

/** A member has the rights of the other role, or can take them with SET ROLE, now and whenever that role is given more. */
async function refuseMemberships(client: pg.Client, user: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT roleid::regrole::text AS name FROM pg_auth_members
     WHERE member = (SELECT oid FROM pg_roles WHERE rolname = $1) ORDER BY 1`,
    [user],
  );
  if (rows.length === 0) return;
  const names = rows.map(({ name }) => name).join(', ');
  throw new MigrationError(
    `The database role "${user}" of DATABASE_URL is a member of ${names}. Give the service a role of its own that is in no ` +
      `other role: run REVOKE ${names} FROM ${pg.escapeIdentifier(user)} as an administrator, and then the migration again.`,
  );
}

/** What the role may do beyond its rights, each with what ends it; %I is the owner, who keeps the right to migrate. */
const excesses = [
  ['is a superuser', 'rolsuper'],
  ['may create roles', 'rolcreaterole'],
  [
    'may change the audit log or the timeline',
    `has_table_privilege(oid, 'audit_log', 'UPDATE, DELETE, TRUNCATE') OR has_any_column_privilege(oid, 'audit_log', 'UPDATE')
     OR has_table_privilege(oid, 'refund_event', 'UPDATE, DELETE, TRUNCATE') OR has_any_column_privilege(oid, 'refund_event', 'UPDATE')`,
  ],
  [
    'may create tables (run GRANT CREATE ON SCHEMA public TO %I; REVOKE CREATE ON SCHEMA public FROM PUBLIC as an administrator)',
    `has_schema_privilege(oid, current_schema(), 'CREATE')`,
  ],
  [
    'may create schemas or temporary tables',
    `has_database_privilege(oid, current_database(), 'CREATE, TEMPORARY')`,
  ],
] as const;

/** Rights that come from elsewhere, such as those of a superuser, and what the role owns cannot be taken away here. */
async function refuseExcess(client: pg.Client, user: string): Promise<void> {
  const found = excesses.map(
    ([words, condition]) =>
      `CASE WHEN ${condition} THEN format(${pg.escapeLiteral(words)}, current_user) END`,
  );
  const { rows } = await client.query<{ reasons: string[]; owned: string[] }>(
    `SELECT array_remove(ARRAY[${found.join(', ')}], NULL) AS reasons,
       ARRAY(
         SELECT CASE WHEN dbid IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
           THEN pg_describe_object(classid, objid, objsubid)
           ELSE 'something in the database ' || (SELECT datname FROM pg_database WHERE oid = dbid) END
         FROM pg_shdepend WHERE refclassid = 'pg_authid'::regclass AND refobjid = r.oid AND deptype = 'o' LIMIT 10) AS owned
     FROM pg_roles AS r WHERE rolname = $1`,
    [user],
  );
  const [{ reasons = [], owned = [] } = {}] = rows;
  const all = owned.length === 0 ? reasons : [...reasons, `owns ${owned.join(', ')} (drop it as that role)`];
  if (all.length === 0) return;
  throw new MigrationError(
    `The database role "${user}" of DATABASE_URL ${all.join(', ')}. Give the service a role of its own without more rights, and ` +
      'let the user of DATABASE_OWNER_URL own the database.',
  );
}

/** What an operator may set for the role, as for a pooler that ignores what connections ask for. */
const allowedSettings = [
  ...Object.keys(connectionSettings).map((name) => name.toLowerCase()),
  ...['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'],
];

/**
 * Removes the settings that the role's sessions begin with. Any role can store such settings of its own, and they would outlast the
 * change of its password.
 */
async function resetSettings(client: pg.Client, user: string, log: (line: string) => void): Promise<void> {
  const { rows } = await client.query<{ place: string; name: string }>(
    `SELECT DISTINCT CASE WHEN d.oid IS NULL THEN '' ELSE ' IN DATABASE ' || quote_ident(d.datname) END AS place,
       split_part(each, '=', 1) AS name
     FROM pg_db_role_setting AS s CROSS JOIN unnest(s.setconfig) AS each LEFT JOIN pg_database AS d ON d.oid = s.setdatabase
     WHERE s.setrole = (SELECT oid FROM pg_roles WHERE rolname = $1) AND lower(split_part(each, '=', 1)) <> ALL ($2)
       AND (d.oid IS NULL OR d.datname = current_database())`,
    [user, allowedSettings],
  );
  for (const { place, name } of rows) {
    const statement = `ALTER ROLE ${pg.escapeIdentifier(user)}${place} RESET ${pg.escapeIdentifier(name)}`;
    try {
      await client.query(statement);
    } catch (error) {
      throw new MigrationError(
        `The database role "${user}" of DATABASE_URL has a setting ${name} of its own, which could not be removed: ` +
          `${reasonOf(error)}. Run ${statement} as an administrator, and then the migration again.`,
      );
    }
    log(`The setting ${name} of the database role "${user}" was removed: the service sets what it needs.`);
  }
}
