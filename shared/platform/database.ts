import { createHash } from 'node:crypto';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { Prisma, PrismaClient } from '#prisma/generated/client.ts';
import type { Clock } from './clock.ts';
import { loadSettings, type Settings } from './config.ts';

export type {
  ApiKey,
  AuditLog,
  FailedRequest,
  IdentityProvider,
  Invitation,
  NotificationChannel,
  Organization,
  Payment,
  ProcessorAccount,
  ReconciliationFinding,
  ReconciliationRun,
  Refund,
  RefundBatch,
  RefundEvent,
  RefundWork,
  Role,
  SecondFactor,
  Session,
  User,
  WebhookDelivery,
  WebhookEndpoint,
} from '#prisma/generated/client.ts';
export {
  isDatabaseUnavailable,
  isDeadlock,
  isNothingDone,
  isUniqueViolation,
  storeTroubleOf,
} from './store-errors.ts';
export { Prisma };

/** The database, with a pool of its own. */
export type Database = PrismaClient;

/** The rows, and the time of what happens to them. */
export interface Stores {
  db: Database;
  clock: Clock;
}

/** One open database transaction. */
export type DatabaseTransaction = Prisma.TransactionClient;

interface DatabaseOptions {
  /** The most connections. */
  poolSize: number;
  /** The defaults of all settings, unless given. */
  settings?: DatabaseSettings;
}

type DatabaseSettings = Pick<
  Settings,
  'DATABASE_CONNECT_TIMEOUT_MS' | 'DATABASE_STATEMENT_TIMEOUT_MS' | 'DATABASE_PREPARED_STATEMENTS'
>;

/** Opens a connection pool; connections are made on first use. */
export function openDatabase(
  databaseUrl: string,
  { poolSize, settings = loadSettings({}) }: DatabaseOptions,
): Database {
  const config = poolConfig(databaseUrl, poolSize, settings);
  const pool = new pg.Pool(config);
  const adapter = new PrismaPg(pool, {
    disposeExternalPool: true,
    // Without names every statement is parsed and planned again.
    ...(settings.DATABASE_PREPARED_STATEMENTS ? { statementNameGenerator: ({ sql }) => nameOf(sql) } : {}),
  });
  const db = new PrismaClient({
    adapter,
    transactionOptions: { maxWait: config.connectionTimeoutMillis, timeout: config.query_timeout },
    errorFormat: 'minimal',
  });
  pools.set(db, pool);
  return db;
}

/** How a pool is used at the moment, in connections. */
type PoolUse = Readonly<Pick<pg.Pool, 'totalCount' | 'idleCount' | 'waitingCount'>>;

/** @param opened what `openDatabase` or `openReads` returned; null for anything else. */
export function poolUse(opened: object): PoolUse | null {
  return pools.get(opened) ?? null;
}

const pools = new WeakMap<object, pg.Pool>();

/** Frequent reads without the ORM, which would cost many times more CPU than the statement. */
export interface Reads {
  /** @returns the rows, with `bigint` columns as bigint and `timestamptz` columns as Date. */
  query<Row>(text: string, values: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

/** Opens a pool for `Reads`. */
export function openReads(
  databaseUrl: string,
  { poolSize, settings = loadSettings({}) }: DatabaseOptions,
): Reads {
  const pool = new pg.Pool(poolConfig(databaseUrl, poolSize, settings));
  pool.on('error', () => {});
  const isPrepared = settings.DATABASE_PREPARED_STATEMENTS;
  const reads: Reads = {
    async query<Row>(text: string, values: readonly unknown[]): Promise<Row[]> {
      // Statements that are composed of filters are many: PostgreSQL keeps the plans of the first ones.
      const isKept = isPrepared && (names.has(text) || names.size < mostNames);
      const statement = { text, values: [...values], ...(isKept ? { name: nameOf(text) } : {}), types };
      const { rows } = await pool.query(statement);
      return rows as Row[];
    },
    close: () => pool.end(),
  };
  pools.set(reads, pool);
  return reads;
}

/** 64-bit integers as bigint, everything else as the driver parses it. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? BigInt : pg.types.getTypeParser(oid, format as 'text'),
};

/** The name of the prepared statement with this text; empty for a text that is planned for its values each time. */
function nameOf(text: string): string {
  // A frequent value is found in the list, a rare one in its index. A kept plan would be one for both.
  if (/metadata_(?:terms|words)\(/.test(text)) return '';
  let name = names.get(text);
  if (name === undefined) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 32);
    if (names.size < mostNames) names.set(text, name);
  }
  return name;
}

const names = new Map<string, string>();
const mostNames = 1_000;

/**
 * What must be right for a refund: connections are set to it, whatever the server, the role and the URL say, and so is the database, for
 * poolers that ignore what connections ask for.
 */
export const databaseSettings = {
  // The driver sends and reads times in UTC without an offset, and in this format.
  TimeZone: 'UTC',
  DateStyle: 'ISO',
  // What is read under a lock has to include what was committed before the lock was taken.
  default_transaction_isolation: 'read committed',
  // A crash of the server must not forget an attempt that was recorded before the call to a processor.
  synchronous_commit: 'on',
  // Before version 18, what has no index would look so expensive without sequential scans that it is compiled.
  jit: 'off',
} as const;

/** What each connection is set to besides, and a pooler's role. Other programs on the database plan as they like. */
export const connectionSettings = {
  ...databaseSettings,
  // How every statement is planned: by indexes, row by row, in the order in which its joins are written. A plan is kept, and one
  // made while a table was small would go on to read all of it.
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_material: 'off',
  join_collapse_limit: '1',
} as const;

/** The URL with the settings after its own options. The driver would ignore them beside the URL if that has options. */
function withSettings(databaseUrl: string): string {
  const [, given = ''] = /[?&]options=([^&]*)/.exec(databaseUrl) ?? [];
  const own = Object.entries(connectionSettings).map(
    ([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`,
  );
  const options = [given, ...own].join(' ').trim();
  return `${databaseUrl}${databaseUrl.includes('?') ? '&' : '?'}options=${options.replaceAll(' ', '+')}`;
}

/** How the way to PostgreSQL is protected; `local` where it does not leave this machine. */
export function encryptionOf(databaseUrl: string): 'verified' | 'unverified' | 'none' | 'local' {
  const { ssl, host }: { ssl?: unknown; host: string } = new pg.Client({ connectionString: databaseUrl });
  if (typeof ssl === 'object' && ssl !== null)
    return 'rejectUnauthorized' in ssl && ssl.rejectUnauthorized === false ? 'unverified' : 'verified';
  if (ssl === true) return 'verified';
  return /^(localhost|127\..*|::1|\/.*)$/.test(host) ? 'local' : 'none';
}

/** The timeouts turn an unreachable or hanging server into an error while the caller is still waiting. */
function poolConfig(databaseUrl: string, poolSize: number, settings: DatabaseSettings) {
  const statementTimeoutMs = settings.DATABASE_STATEMENT_TIMEOUT_MS;
  return {
    connectionString: withSettings(databaseUrl),
    application_name: 'refund-service',
    max: poolSize,
    connectionTimeoutMillis: settings.DATABASE_CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 30_000,
    // The server ends a statement first, if it still answers.
    query_timeout: statementTimeoutMs + 1_000,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs + 6_000,
    keepAlive: true,
    Client: StrictClient,
  } satisfies pg.PoolConfig;
}

/** The database's time, which all times of refunds use. */
export async function serviceTime(db: DatabaseTransaction): Promise<Date> {
  const [row] = await db.$queryRaw<{ now: Date }[]>`SELECT service_time() AS now`;
  if (row === undefined) throw new Error('service_time() returned no row');
  return row.now;
}

/**
 * A PostgreSQL connection that is closed when a statement exceeds `query_timeout`. The pg package would keep it: the next
 * statement, usually a ROLLBACK, would wait behind the lost one, and the pool could hand out a connection with an open
 * transaction.
 *
 * A connection that PostgreSQL closes fails the next statement instead of ending the process.
 */
export class StrictClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    // The pool handles errors of idle connections and Prisma those of connections in use. Between the two, an unhandled error
    // would end the process.
    this.on('error', () => {});
    const query = this.query.bind(this) as (...args: unknown[]) => unknown;
    this.query = ((...args: unknown[]) => {
      const answer = query(...args);
      // With a callback the caller is the pool, which closes the connection itself.
      if (answer instanceof Promise) answer.catch((error: unknown) => this.#giveUpAfter(error));
      return answer;
    }) as typeof this.query;
  }

  #giveUpAfter(error: unknown): void {
    if (error instanceof Error && error.message === 'Query read timeout') void this.end().catch(() => {});
  }
}
