import { createHash } from 'node:crypto';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { Prisma, PrismaClient } from '../../prisma/generated/client.ts';

export type {
  ApiKey,
  AttemptOutcome,
  AuditLog,
  Invitation,
  Organization,
  Payment,
  ProcessorAccount,
  ProcessorEvent,
  ReconciliationFinding,
  ReconciliationRun,
  Refund,
  RefundAttempt,
  RefundEvent,
  RefundWork,
  Role,
  Session,
  User,
} from '../../prisma/generated/client.ts';
export { Prisma };

/** The database, with a pool of its own. */
export type Database = PrismaClient;

/** One open database transaction. */
export type DatabaseTransaction = Prisma.TransactionClient;

/** Where to find PostgreSQL, and how to use it. */
export interface DatabaseOptions {
  /** Connections at most. */
  poolSize: number;
  /** False where a pooler in front of PostgreSQL hands every statement to another connection. */
  preparesStatements?: boolean;
}

/** Opens a pool on PostgreSQL; connections are made when they are first needed. */
export function openDatabase(databaseUrl: string, options: DatabaseOptions): Database {
  const adapter = new PrismaPg(poolConfig(databaseUrl, options), {
    // Without names every statement is parsed and planned anew.
    ...((options.preparesStatements ?? true) ? { statementNameGenerator: ({ sql }) => nameOf(sql) } : {}),
  });
  return new PrismaClient({
    adapter,
    transactionOptions: { maxWait: 3_000, timeout: 10_000 },
    errorFormat: 'minimal',
  });
}

/** Statements that are read often: past the ORM, whose own time is many times that of the statement. */
export interface Reads {
  /** @returns the rows, with columns named as the statement names them; `bigint` and `timestamptz` are read as such. */
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
      const statement = { text, values: [...values], ...(isPrepared ? { name: nameOf(text) } : {}), types };
      const { rows } = await pool.query(statement);
      return rows as Row[];
    },
    close: () => pool.end(),
  };
}

/** 64-bit integers as bigint; everything else as the driver reads it. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? BigInt : pg.types.getTypeParser(oid, format as 'text'),
};

/** A prepared statement is known by its text, and by this name on the connection. */
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

/** The timeouts turn a server that is gone or frozen into an error while the caller still waits. */
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
    // The driver writes and reads times without their offset, and means UTC: in a database, or for a role, whose time zone
    // is another one, every time would be shifted by it, and by another hour in summer.
    options: '-c TimeZone=UTC',
    Client: StrictClient,
  };
}

/** Codes of Prisma, PostgreSQL and the network that mean: the database could not be worked with just now. */
const unavailableCodes = new Set([
  // The tables are not there yet: the migration has to run first.
  ...['P2021', '42P01'],
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
    // Deadlocks, serialization failures and locks that could not be had: the transaction was rolled back as a whole.
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

/** True when an error says that the database is gone, full or too slow, rather than that the statement was wrong. */
export function isDatabaseUnavailable(error: unknown): boolean {
  for (const link of chainOf(error)) {
    if (typeof link.code === 'string' && unavailableCodes.has(link.code)) return true;
    if (typeof link.originalCode === 'string' && unavailableCodes.has(link.originalCode)) return true;
    if (typeof link.kind === 'string' && unavailableKinds.has(link.kind)) return true;
    if (typeof link.message === 'string' && unavailableMessages.test(link.message)) return true;
  }
  return false;
}

/** True when PostgreSQL has rolled a statement back for another session's sake, so that it may simply be repeated. */
export function isDeadlock(error: unknown): boolean {
  return chainOf(error).some(({ code, originalCode }) =>
    [code, originalCode].some((each) => each === '40P01' || each === '40001'),
  );
}

/** Codes of connections that were not made, and of statements that PostgreSQL itself has turned down and rolled back. */
const nothingDoneCodes = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', '57P03', '53300'],
  ...['P2021', '42P01', '53100', '53200', '57014', '40P01', '40001', '55P03'],
]);

/** True when an error says that nothing was done; false when the connection broke and the outcome is unknown. */
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

/** The database's time, by which everything about refunds is dated. */
export async function serviceTime(db: DatabaseTransaction): Promise<Date> {
  const [row] = await db.$queryRaw<{ now: Date }[]>`SELECT service_time() AS now`;
  if (row === undefined) throw new Error('The database did not tell the time');
  return row.now;
}

/** True when the error is PostgreSQL's refusal of a duplicate. */
export function isUniqueViolation(error: unknown): boolean {
  return chainOf(error).some((link) => link.code === 'P2002' || link.originalCode === '23505');
}

interface ErrorLink {
  code?: unknown;
  originalCode?: unknown;
  kind?: unknown;
  message?: unknown;
}

/** An error with its causes, also those that Prisma keeps in `meta.driverAdapterError`; eight levels at most. */
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
 * A PostgreSQL connection that is given up once a statement has not been answered within `query_timeout`. The pg
 * package would keep it, and the next statement, a ROLLBACK first of all, would wait behind the lost one for as long
 * again, while the pool hands out a connection that may have a transaction open.
 *
 * One that is ended by PostgreSQL fails the statement that comes next, and never the process.
 */
export class StrictClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    // The pool listens to idle connections and Prisma to those that it uses. On the way from the one to the other
    // nobody does, and Node ends a process for an error that nobody listens to.
    this.on('error', () => {});
    const query = this.query.bind(this) as (...args: unknown[]) => unknown;
    this.query = ((...args: unknown[]) => {
      const answer = query(...args);
      // With a callback instead of a promise the pool is the caller, and ends the connection itself.
      if (answer instanceof Promise) answer.catch((error: unknown) => this.#giveUpAfter(error));
      return answer;
    }) as typeof this.query;
  }

  #giveUpAfter(error: unknown): void {
    if (error instanceof Error && error.message === 'Query read timeout') void this.end().catch(() => {});
  }
}
