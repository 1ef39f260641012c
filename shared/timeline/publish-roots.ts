import { rootEventType } from '../events/event.ts';
import { type Database, serviceTime } from '../platform/database.ts';
import type { Logger } from '../platform/log.ts';
import type { Metrics } from '../platform/telemetry/metrics.ts';
import { toItems } from '../refunds/model/rows.ts';
import { DayDigests, rootOf } from './hashes.ts';
import {
  dayOf,
  dayStart,
  firstDayWithEvents,
  firstDayWithoutRoot,
  nextDay,
  readDay,
  rootBefore,
} from './read-days.ts';

/**
 * How long after its end a day is closed. The time of an event is that of its statement, and no transaction of the service lasts a
 * minute. An event of a closed day that is committed later, as after the database's clock was set back, is in no root.
 */
const closingDelayMs = 60 * 60 * 1000;

interface RootDependencies {
  db: Database;
  log: Logger;
  metrics: Pick<Metrics, 'provenUntil'>;
}

/**
 * Publishes the roots of the closed days that have none: stores them, and makes them due for webhook endpoints. Several workers may
 * do so at the same time: they compute the same, and the first one stores it. A metric says up to when nothing is left.
 */
export async function publishRoots(deps: RootDependencies, closing: AbortSignal): Promise<void> {
  const openDay = openDayAt(await serviceTime(deps.db));
  let day = await firstDayWithoutRoot(deps.db, openDay);
  while (day !== null && day < openDay && !closing.aborted) {
    await publishDay(deps, day, closing);
    day = await firstDayWithEvents(deps.db, nextDay(day));
  }
  const left = await firstDayWithoutRoot(deps.db, openDay);
  deps.metrics.provenUntil.set(dayStart(left ?? openDay).getTime() / 1_000);
}

/** The first day that is not closed. */
export function openDayAt(time: Date): string {
  return dayOf(new Date(time.getTime() - closingDelayMs));
}

async function publishDay({ db, log }: RootDependencies, day: string, closing: AbortSignal): Promise<void> {
  const digests = new DayDigests();
  for await (const page of readDay(db, day)) {
    for (const event of page) digests.add(event);
    if (closing.aborted) return;
  }
  const roots = [];
  for (const content of digests.contents()) {
    const { organizationId, environment, eventCount } = content;
    const root = rootOf(day, content, await rootBefore(db, day, content));
    roots.push({ organizationId, environment, eventCount, root });
  }
  const stored = await db.$queryRaw<{ organizationId: string; environment: string; root: string }[]>`
    WITH clock AS MATERIALIZED (SELECT service_time() AS moment),
    stored AS (
      INSERT INTO timeline_root (id, organization_id, environment, day, event_count, root, created_at)
      SELECT new_type_id('evt', moment), i.organization_id, i.environment, ${day}::date, i.event_count, decode(i.root, 'hex'), moment
      FROM clock, jsonb_to_recordset(${toItems(roots)}::jsonb)
        AS i(organization_id text, environment environment, event_count int, root text)
      -- Every worker inserts in this order, so there is no deadlock.
      ORDER BY i.organization_id, i.environment
      ON CONFLICT DO NOTHING
      RETURNING *
    ), addressed AS (
      INSERT INTO webhook_delivery (id, endpoint_id, event_id, type, next_attempt_at, created_at)
      SELECT new_type_id('del', stored.created_at), w.id, stored.id, ${rootEventType}, stored.created_at, stored.created_at
      FROM stored CROSS JOIN LATERAL (
        SELECT id FROM webhook_endpoint
        WHERE organization_id = stored.organization_id AND environment = stored.environment AND status = 'enabled'
          AND (${rootEventType} = ANY (events) OR '*' = ANY (events))
        -- By the organization of each root: joined, all endpoints would be read.
        OFFSET 0) AS w
    )
    SELECT organization_id AS "organizationId", environment::text, encode(root, 'hex') AS root FROM stored`;
  // The log is another copy outside of the database.
  for (const root of stored) log.info({ ...root, day }, 'timeline root published');
}
