import {
  connectionSettings,
  encryptionOf,
  isDatabaseUnavailable,
  storeTroubleOf,
} from '#shared/platform/database.ts';
import { about, type Check, type Finding } from './finding.ts';

const postgres = about('PostgreSQL');

interface Server {
  version: string;
  versionNumber: number;
  encoding: string;
  isReplica: boolean;
  isReadOnly: boolean;
  role: string;
  isSuperuser: boolean;
  ownsTables: boolean;
  createsTables: boolean;
  fsync: string;
  sessions: number;
  mostSessions: number;
  settings: Record<string, string>;
}

/** The oldest version that is supported, as PostgreSQL numbers it. */
const oldest = 140_000;

/** The share of connections in use from which others may be refused. */
const muchUsed = 0.8;

/** PostgreSQL as the service's role finds it. */
export const checkPostgres: Check = async ({ db, settings }) => {
  try {
    const [server] = await db.$queryRaw<Server[]>`
      SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS "versionNumber",
        current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS "isReplica",
        current_setting('transaction_read_only') = 'on' AS "isReadOnly", current_user::text AS role,
        (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS "isSuperuser",
        EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('refund') AND relowner = current_user::regrole) AS "ownsTables",
        has_schema_privilege(current_schema(), 'CREATE') AS "createsTables", current_setting('fsync') AS fsync,
        (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS sessions,
        current_setting('max_connections')::int AS "mostSessions",
        (SELECT json_object_agg(name, current_setting(name)) FROM unnest(${Object.keys(connectionSettings)}::text[]) AS name) AS settings`;
    if (server === undefined) return [postgres.wrong('It answers nothing.')];
    return [...ofServer(server), ...ofRole(server), ...ofSettings(server), ofWay(settings.DATABASE_URL)];
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
    return [postgres.wrong(storeTroubleOf(error) ?? 'It cannot be used: read its log.')];
  }
};

function ofServer(server: Server): Finding[] {
  const { version, versionNumber, encoding, isReplica, isReadOnly, fsync, sessions, mostSessions } = server;
  return [
    versionNumber < oldest
      ? postgres.wrong(`Version ${version} is too old: upgrade it to 14 or later.`)
      : postgres.right(`Version ${version} answers, with ${sessions} of ${mostSessions} connections in use.`),
    ...(isReplica || isReadOnly
      ? [
          postgres.wrong(
            'It only reads: set DATABASE_URL to the primary, or end default_transaction_read_only.',
          ),
        ]
      : []),
    ...(encoding === 'UTF8'
      ? []
      : [postgres.wrong(`The database is encoded in ${encoding}: create it with ENCODING 'UTF8'.`)]),
    ...(fsync === 'on'
      ? []
      : [postgres.warning('fsync is off, so a crash can lose attempts: switch it on.')]),
    ...(sessions > muchUsed * mostSessions
      ? [postgres.warning('Most connections are in use: raise max_connections, or run fewer processes.')]
      : []),
  ];
}

function ofRole({ role, isSuperuser, ownsTables, createsTables }: Server): Finding[] {
  const excess = [
    ...(isSuperuser ? ['is a superuser'] : []),
    ...(ownsTables ? ['owns the tables'] : []),
    ...(createsTables ? ['may create tables'] : []),
  ];
  if (excess.length === 0) return [postgres.right(`The role ${role} has its own rights alone.`)];
  return [
    postgres.warning(
      `The role ${role} ${excess.join(', ')}, so it could change the audit log: set DATABASE_OWNER_URL for the migration, as docs/security.md describes.`,
    ),
  ];
}

/** What a pooler ignores. The format of dates has an order, too, which does not matter. */
function ofSettings({ settings }: Server): Finding[] {
  const expected = Object.entries(connectionSettings);
  const other = expected.filter(([name, value]) => settings[name]?.split(',')[0] !== value);
  if (other.length === 0) return [postgres.right('Connections have the settings that the service asks for.')];
  const found = other.map(([name]) => `${name} (${settings[name]})`).join(', ');
  return [
    postgres.wrong(
      `Connections lack settings that the service asks for: ${found}. Run the migration, and give the others to the role as docs/operations/deployment.md says.`,
    ),
  ];
}

function ofWay(databaseUrl: string): Finding {
  const encryption = encryptionOf(databaseUrl);
  if (encryption === 'verified')
    return postgres.right('The connection is encrypted, and the server verified.');
  if (encryption === 'unverified')
    return postgres.warning(
      'The certificate of the server is not verified: set sslmode=verify-full, and name its authority in NODE_EXTRA_CA_CERTS.',
    );
  return encryption === 'local'
    ? postgres.right('The server is on this machine.')
    : postgres.warning(
        'The connection is not encrypted: add sslmode=verify-full to DATABASE_URL, unless the network is private.',
      );
}
