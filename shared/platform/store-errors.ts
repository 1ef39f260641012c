// What an error of PostgreSQL or Redis says about them. It needs no package, so that the log of any program can use it.
import { databaseTroubleOf } from './database-trouble.ts';
import { redisTroubleOf } from './redis-trouble.ts';

const tlsCodes = [
  ...['SELF_SIGNED_CERT_IN_CHAIN', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
  ...['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID'],
];

/** What PgBouncer says while it has no connection to PostgreSQL, and what the driver says of a server without TLS. */
const noConnection =
  /server login has been failing|pgbouncer cannot connect to server|no such database|does not support SSL connections/i;

/** Codes of Prisma, PostgreSQL and the network for a database that is temporarily unavailable. */
const unavailableCodes = new Set([
  // The tables or the role of the service do not exist yet: the migration has not run.
  ...['P2021', '42P01', '28P01', '28000', '3D000'],
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
    // Sessions that were idle for too long.
    ...['25P03', '57P05'],
    // It only reads: a replica after a failover, or a server that its provider protects from a full disk.
    '25006',
    // Deadlocks, serialization failures and lock timeouts: the transaction was rolled back.
    ...['40P01', '40001', '55P03'],
  ],
  // What the certificate of the server is refused for.
  ...tlsCodes,
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
    if (typeof link.message !== 'string') continue;
    if (unavailableMessages.test(link.message) || noConnection.test(link.message)) return true;
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
  ...['28000', '3D000', ...tlsCodes],
  ...['P2021', '42P01', '53100', '53200', '57014', '57P05', '25006', '40P01', '40001', '55P03'],
]);

/** True when nothing was changed; false when the connection broke and the outcome is unknown. */
export function isNothingDone(error: unknown): boolean {
  return chainOf(error).some(
    ({ code, originalCode, kind, message }) =>
      [code, originalCode].some((each) => typeof each === 'string' && nothingDoneCodes.has(each)) ||
      kind === 'DatabaseNotReachable' ||
      kind === 'TooManyConnections' ||
      (typeof message === 'string' &&
        (noConnection.test(message) ||
          /timeout exceeded when trying to connect|can't reach database/i.test(message))),
  );
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

/** What is wrong with PostgreSQL or Redis and what to do, in a sentence; null for an error that says nothing of it. */
export function storeTroubleOf(error: unknown): string | null {
  const texts = chainOf(error).flatMap(({ code, originalCode, kind, message }) => [
    ...[code, originalCode, kind, message],
  ]);
  return redisTroubleOf(error) ?? databaseTroubleOf(texts.filter((text) => typeof text === 'string'));
}

const redisNames = new Set(['MaxRetriesPerRequestError', 'ClusterAllFailedError']);

const redisMessages =
  /^(command timed out|stream isn't writeable|connection is closed|Redis did not answer)/i;

/** True when an error says that the queues' store, Redis or PostgreSQL, is unreachable or not ready. */
export function isQueueUnavailable(error: unknown): boolean {
  if (isDatabaseUnavailable(error) || redisTroubleOf(error) !== null) return true;
  return error instanceof Error && (redisNames.has(error.name) || redisMessages.test(error.message));
}
