import { createHash } from 'node:crypto';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { Prisma, PrismaClient } from '#prisma/generated/client.ts';

export type {
  ApiKey,
  AuditLog,
  Invitation,
  Organization,
  Payment,
  ProcessorAccount,
  ProcessorEvent,
  ReconciliationFinding,
  ReconciliationRun,
  Refund,
  RefundEvent,
  RefundWork,
  Role,
  SecondFactor,
  Session,
  User,
  WebhookDelivery,
  WebhookEndpoint,
} from '#prisma/generated/client.ts';
export { Prisma };

/** The database, with a pool of its own. */
export type Database = PrismaClient;

/** One open database transaction. */
export type DatabaseTransaction = Prisma.TransactionClient;

export interface DatabaseOptions {
  /** The most connections. */
  poolSize: number;
  /** False behind a pooler that may run each statement on another connection. */
  preparesStatements?: boolean;
}

/** Opens a connection pool; connections are made on first use. */
export function openDatabase(databaseUrl: string, options: DatabaseOptions): Database {
  const adapter = new PrismaPg(poolConfig(databaseUrl, options), {
    // Without names every statement is parsed and planned again.
    ...((options.preparesStatements ?? true) ? { statementNameGenerator: ({ sql }) => nameOf(sql) } : {}),
  });
  return new PrismaClient({
    adapter,
    transactionOptions: { maxWait: 3_000, timeout: 10_000 },
    errorFormat: 'minimal',
  });
}

/** Frequent reads without the ORM, which would cost many times more CPU than the statement. */
export interface Reads {
  /** @returns the rows, with `bigint` columns as bigint and `timestamptz` columns as Date. */
  query<Row>(text: string, values: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

/** Opens a pool for `Reads`. */
export function openReads(databaseUrl: string, options: DatabaseOptions): Reads {
  const pool = new pg.Pool(poolConfig(databaseUrl, options));
  pool.on('error', () => {});
  const isPrepared = options.preparesStatements ?? true;
  return {
    async query<Row>(text: string, values: readonly unknown[]): Promise<Row[]> {
      // Statements that are composed of filters are many: PostgreSQL keeps the plans of the first ones.
      const isKept = isPrepared && (names.has(text) || names.size < mostNames);
      const statement = { text, values: [...values], ...(isKept ? { name: nameOf(text) } : {}), types };
      const { rows } = await pool.query(statement);
      return rows as Row[];
    },
    close: () => pool.end(),
  };
}

/** 64-bit integers as bigint, everything else as the driver parses it. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? BigInt : pg.types.getTypeParser(oid, format as 'text'),
};

/** The name of the prepared statement with this text. */
function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 32);
    if (names.size < mostNames) names.set(text, name);
  }
  return name;
}

const names = new Map<string, string>();
const mostNames = 1_000;

/** The timeouts turn an unreachable or hanging server into an error while the caller is still waiting. */
function poolConfig(databaseUrl: string, { poolSize }: DatabaseOptions): pg.PoolConfig {
  return {
    connectionString: databaseUrl,
    max: poolSize,
    connectionTimeoutMillis: 3_000,
    idleTimeoutMillis: 30_000,
    query_timeout: 10_000,
    statement_timeout: 9_000,
    idle_in_transaction_session_timeout: 15_000,
    keepAlive: true,
    // The driver sends and reads times in UTC without an offset, so another time zone of the database or role would shift them.
    // A plan is kept: one made while a table was small would go on to read all of it. Before version 18, what has no index would
    // look so expensive without sequential scans that it is compiled.
    options: '-c TimeZone=UTC -c enable_seqscan=off -c jit=off',
    Client: StrictClient,
  };
}

/** Codes of Prisma, PostgreSQL and the network for a database that is temporarily unavailable. */
const unavailableCodes = new Set([
  // The tables or the role of the service do not exist yet: the migration has not run.
  ...['P2021', '42P01', '28P01'],
  ...['P1000', 'P1001', 'P1002', 'P1008', 'P1010', 'P1011', 'P1017', 'P2024', 'P2028', 'P2037'],
  ...[
    '57P01',
    '57P02',
    '57P03',
    '57014',
    '53300',
    '53100',
    '53200',
    '08000',
    '08001',
    '08003',
    '08006',
    '25P03',
    // Deadlocks, serialization failures and lock timeouts: the transaction was rolled back.
    ...['40P01', '40001', '55P03'],
  ],
  ...[
    'ECONNREFUSED',
    'ECONNRESET',
    'ETIMEDOUT',
    'EPIPE',
    'ENOTFOUND',
    'EAI_AGAIN',
    'EHOSTUNREACH',
    'ENETUNREACH',
  ],
]);

const unavailableKinds = new Set([
  'DatabaseNotReachable',
  'ConnectionClosed',
  'SocketTimeout',
  'TooManyConnections',
]);

const unavailableMessages =
  /connection terminated|timeout exceeded when trying to connect|query read timeout|can't reach database|server has closed the connection|not queryable|transaction (already closed|not found)|unable to start a transaction/i;

/** True when the database is unreachable, full or too slow; false when the statement was wrong. */
export function isDatabaseUnavailable(error: unknown): boolean {
  for (const link of chainOf(error)) {
    if (typeof link.code === 'string' && unavailableCodes.has(link.code)) return true;
    if (typeof link.originalCode === 'string' && unavailableCodes.has(link.originalCode)) return true;
    if (typeof link.kind === 'string' && unavailableKinds.has(link.kind)) return true;
    if (typeof link.message === 'string' && unavailableMessages.test(link.message)) return true;
  }
  return false;
}

/** True when PostgreSQL rolled a statement back because of another session, so that it may be repeated. */
export function isDeadlock(error: unknown): boolean {
  return chainOf(error).some(({ code, originalCode }) =>
    [code, originalCode].some((each) => each === '40P01' || each === '40001'),
  );
}

/** Codes of connections that were not made, and of statements that PostgreSQL refused and rolled back. */
const nothingDoneCodes = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', '28P01', '57P03', '53300'],
  ...['P2021', '42P01', '53100', '53200', '57014', '40P01', '40001', '55P03'],
]);

/** True when nothing was changed; false when the connection broke and the outcome is unknown. */
export function isNothingDone(error: unknown): boolean {
  return chainOf(error).some(
    ({ code, originalCode, kind, message }) =>
      [code, originalCode].some((each) => typeof each === 'string' && nothingDoneCodes.has(each)) ||
      kind === 'DatabaseNotReachable' ||
      kind === 'TooManyConnections' ||
      (typeof message === 'string' &&
        /timeout exceeded when trying to connect|can't reach database/i.test(message)),
  );
}

/** The database's time, which all times of refunds use. */
export async function serviceTime(db: DatabaseTransaction): Promise<Date> {
  const [row] = await db.$queryRaw<{ now: Date }[]>`SELECT service_time() AS now`;
  if (row === undefined) throw new Error('service_time() returned no row');
  return row.now;
}

/** True for a violated unique constraint. */
export function isUniqueViolation(error: unknown): boolean {
  return chainOf(error).some((link) => link.code === 'P2002' || link.originalCode === '23505');
}

interface ErrorLink {
  code?: unknown;
  originalCode?: unknown;
  kind?: unknown;
  message?: unknown;
}

/** An error and its causes, including Prisma's `meta.driverAdapterError`; eight levels at most. */
function chainOf(error: unknown): ErrorLink[] {
  const links: ErrorLink[] = [];
  let current: unknown = error;
  while (typeof current === 'object' && current !== null && links.length < 8) {
    links.push(current);
    const { cause, meta } = current as { cause?: unknown; meta?: { driverAdapterError?: unknown } };
    current = cause ?? meta?.driverAdapterError;
  }
  return links;
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
