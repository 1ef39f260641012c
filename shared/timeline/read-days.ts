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

/** Its first moment. */
export function dayStart(day: string): Date {
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

/** The last day before another that has roots; null when there is none. */
export async function lastDayWithRoots(db: Database, before: string): Promise<string | null> {
  const [row] = await db.$queryRaw<
    { last: string | null }[]
  >`SELECT max(day)::text AS last FROM timeline_root WHERE day < ${before}::date`;
  return row?.last ?? null;
}

/**
 * The first day before the open one of which an owner has events and no root; null when there is none. Each owner has its own progress,
 * and only roots of days that are over count: a root that does not belong there holds up no one else.
 */
export async function firstDayWithoutRoot(db: Database, openDay: string): Promise<string | null> {
  const published = await lastDayWithRoots(db, openDay);
  const next = await firstDayWithEvents(db, published && nextDay(published));
  const behind = await firstDayBehind(db, openDay);
  const [first = null] = [next, behind].filter((day) => day !== null && day < openDay).toSorted();
  return first;
}

/** The same, of owners whose last public event before the open day is newer than their last root. */
async function firstDayBehind(db: Database, openDay: string): Promise<string | null> {
  const [row] = await db.$queryRaw<{ day: string | null }[]>`
    WITH open_day AS MATERIALIZED (
      -- Positions follow the time but for what is committed at the same moment.
      SELECT coalesce((
        SELECT position FROM refund_event WHERE hash IS NOT NULL AND created_at >= ${dayStart(openDay)} AND position IS NOT NULL
        ORDER BY created_at LIMIT 1), 9223372036854775807) AS position)
    SELECT min(coalesce(published.day + 1, (first.created_at AT TIME ZONE 'UTC')::date))::text AS day
    FROM open_day CROSS JOIN organization AS o CROSS JOIN unnest(enum_range(NULL::environment)) AS environment
    -- Compared as rows, so that no other index competes with that of the feed; what is found may be of another owner.
    CROSS JOIN LATERAL (
      SELECT e.* FROM refund_event AS e
      WHERE (e.organization_id, e.environment, e.position) < (o.id, environment.environment, open_day.position) AND e.position IS NOT NULL
      ORDER BY e.organization_id DESC, e.environment DESC, e.position DESC LIMIT 1) AS last
    CROSS JOIN LATERAL (
      SELECT e.created_at FROM refund_event AS e
      WHERE (e.organization_id, e.environment, e.position) > (o.id, environment.environment, 0) AND e.position IS NOT NULL
      ORDER BY e.organization_id, e.environment, e.position LIMIT 1) AS first
    LEFT JOIN LATERAL (
      SELECT max(r.day) AS day FROM timeline_root AS r
      WHERE r.organization_id = o.id AND r.environment = environment.environment AND r.day < ${openDay}::date
    ) AS published ON true
    WHERE last.organization_id = o.id AND last.environment = environment.environment AND last.hash IS NOT NULL
      AND (published.day IS NULL OR (last.created_at AT TIME ZONE 'UTC')::date > published.day)`;
  return row?.day ?? null;
}
