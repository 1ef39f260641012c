import { type Database, Prisma } from '../platform/database.ts';
import type { RootOwner } from './hashes.ts';

/** Events that one statement reads, so that none takes long. */
const pageSize = 2_000;

/** The columns of events that a root needs. */
export interface HashedEvent extends RootOwner {
  createdAt: Date;
  /** In hexadecimal. */
  hash: string;
}

/**
 * The events of a day that have a hash, of all organizations, in the order of time and hash; page by page.
 * @param day in UTC, as `2026-11-24`.
 * @param more further columns and joins, for SQL that names the event `e` and its refund `r`.
 */
export async function* readDay<More = unknown>(
  db: Database,
  day: string,
  more = { columns: Prisma.empty, joins: Prisma.empty },
): AsyncGenerator<(HashedEvent & More)[], void, undefined> {
  const end = dayStart(nextDay(day));
  let cursor = { createdAt: dayStart(day), hash: '' };
  for (;;) {
    const page: (HashedEvent & More)[] = await db.$queryRaw`
      SELECT r.organization_id AS "organizationId", r.environment::text, e.created_at AS "createdAt", encode(e.hash, 'hex') AS hash
        ${more.columns}
      FROM (
        SELECT * FROM refund_event
        WHERE hash IS NOT NULL AND created_at >= ${cursor.createdAt} AND created_at < ${end}
          AND (created_at, hash) > (${cursor.createdAt}, decode(${cursor.hash}, 'hex'))
        ORDER BY created_at, hash LIMIT ${pageSize}) AS e
      CROSS JOIN LATERAL (SELECT * FROM refund WHERE id = e.refund_id) AS r
      ${more.joins}
      ORDER BY e.created_at, e.hash`;
    if (page.length > 0) yield page;
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    cursor = last;
  }
}

function dayStart(day: string): Date {
  return new Date(`${day}T00:00:00Z`);
}

/** The day of a time, in UTC. */
export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

export function nextDay(day: string): string {
  return dayOf(new Date(dayStart(day).getTime() + 24 * 60 * 60 * 1000));
}

/** The first day from this one on that has events with a hash; null when there is none. */
export async function firstDayWithEvents(db: Database, from: string | null): Promise<string | null> {
  const since = dayStart(from ?? '1970-01-01');
  const [first] = await db.$queryRaw<{ createdAt: Date }[]>`
    SELECT created_at AS "createdAt" FROM refund_event
    WHERE hash IS NOT NULL AND created_at >= ${since} ORDER BY created_at LIMIT 1`;
  return first === undefined ? null : dayOf(first.createdAt);
}

/** A published root. */
export interface StoredRoot extends RootOwner {
  eventCount: number;
  /** In hexadecimal. */
  root: string;
}

/** The roots of a day, of all organizations. */
export async function rootsOf(db: Database, day: string): Promise<StoredRoot[]> {
  return await db.$queryRaw<StoredRoot[]>`
    SELECT organization_id AS "organizationId", environment::text, event_count AS "eventCount", encode(root, 'hex') AS root
    FROM timeline_root WHERE day = ${day}::date ORDER BY organization_id, environment`;
}

/** The last root of an owner before a day; null when there is none. */
export async function rootBefore(
  db: Database,
  day: string,
  { organizationId, environment }: RootOwner,
): Promise<string | null> {
  const [row] = await db.$queryRaw<{ root: string }[]>`
    SELECT encode(root, 'hex') AS root FROM timeline_root
    WHERE organization_id = ${organizationId} AND environment = ${environment}::environment AND day < ${day}::date
    ORDER BY day DESC LIMIT 1`;
  return row?.root ?? null;
}

/** The last day that has roots; null when there is none. */
export async function lastDayWithRoots(db: Database): Promise<string | null> {
  const [row] = await db.$queryRaw<
    { last: string | null }[]
  >`SELECT max(day)::text AS last FROM timeline_root`;
  return row?.last ?? null;
}
