import type { Dependencies } from '../dependencies.ts';
import type { Reads } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { isId } from '../platform/ids.ts';
import { type SharedStatement, shareQuestion } from '../platform/shared-statement.ts';
import type { PublicEventType } from '../refunds/model/event-types.ts';
import { isRefundId, type RefundOwner } from '../refunds/model/refund.ts';
import { refundNotFound } from '../refunds/queries/find-refunds.ts';
import { eventColumns, type PublicEvent, type ReadEvent, toPublicEvent } from './event.ts';
import { EventWatcher } from './event-watcher.ts';

/** What a client reads of its feed. */
export interface EventListing {
  /** The id of the event to continue after; undefined begins with the first one. */
  after: string | undefined;
  /** Undefined for all types. */
  type: PublicEventType | undefined;
  limit: number;
}

export interface EventPage {
  /** Oldest first. */
  data: PublicEvent[];
  /** The `after` that continues from here; null while the feed has no event at all. */
  nextAfter: string | null;
  hasMore: boolean;
}

type Question = RefundOwner & EventListing;

interface ReadPage {
  events: ReadEvent[];
  /** Nothing else follows up to this position. */
  readTo: bigint;
}

/** The ordered feed of public events. prisma/functions/events/settled_event_position.sql says why it has no gaps. */
export class EventFeed {
  readonly #readPage: SharedStatement<string, ReadPage | null>;
  readonly #watcher: EventWatcher;

  /** @param closing ends all waiting. */
  constructor(deps: Pick<Dependencies, 'reads' | 'log'>, closing: AbortSignal) {
    this.#readPage = shareQuestion((question) => readPage(deps.reads, JSON.parse(question)));
    this.#watcher = new EventWatcher(deps, closing);
  }

  /**
   * A page of an owner's events.
   * @param waitMs how long to wait for an event when there is none yet.
   * @throws ServiceError validation_error for an `after` that is malformed, unknown or another owner's, all alike.
   */
  async read(
    { organizationId, environment }: RefundOwner,
    asked: EventListing,
    waitMs: number,
    whileWaiting: Dependencies['whileWaiting'] = (wait) => wait(),
  ): Promise<EventPage> {
    const { after, type, limit } = asked;
    const question: Question = { organizationId, environment, after, type, limit };
    const page = await this.#find(question);
    if (page.events.length > 0 || waitMs <= 0) return toEventPage(question, page);
    const awaited = { organizationId, environment, type, readTo: page.readTo };
    const hasNews = await whileWaiting(() => this.#watcher.waitFor(awaited, waitMs));
    return toEventPage(question, hasNews ? await this.#find(question) : page);
  }

  /** How many requests wait at the moment. */
  get waiting(): number {
    return this.#watcher.waiting;
  }

  async #find(question: Question): Promise<ReadPage> {
    const isPossible = question.after === undefined || isId('evt', question.after);
    const page = isPossible ? await this.#readPage(JSON.stringify(question)) : null;
    if (page !== null) return page;
    throw new ServiceError(
      'validation_error',
      'after: unknown event. Omit it to begin with the first event.',
    );
  }
}

/** @returns null when there is no such event to continue after. */
async function readPage(reads: Reads, question: Question): Promise<ReadPage | null> {
  const { organizationId, environment, after = null, type = null, limit } = question;
  // One more than asked for says whether there are more.
  const rows = await reads.query<{ eventId: string | null; readTo: bigint }>(
    `SELECT ${eventColumns}, found.read_to AS "readTo" FROM read_events($1, $2, $3, $4, $5) AS found
     CROSS JOIN LATERAL (SELECT (found.event).*) AS e
     CROSS JOIN LATERAL (SELECT (found.refund).*) AS r
     ORDER BY e.position`,
    [organizationId, environment, after, type, limit + 1],
  );
  const last = rows.at(-1);
  if (last === undefined) return null;
  return {
    events: rows.filter((row): row is ReadEvent & typeof row => row.eventId !== null),
    readTo: last.readTo,
  };
}

function toEventPage({ limit, after }: Question, { events }: ReadPage): EventPage {
  const data = events.slice(0, limit).map(toPublicEvent);
  return { data, nextAfter: data.at(-1)?.id ?? after ?? null, hasMore: events.length > limit };
}

/**
 * The public events of one refund, oldest first.
 * @throws ServiceError not_found for an id that is unknown, malformed or another owner's, all alike.
 */
export async function readRefundEvents(
  reads: Reads,
  { organizationId, environment }: RefundOwner,
  refundId: string,
): Promise<PublicEvent[]> {
  const rows = isRefundId(refundId)
    ? await reads.query<ReadEvent>(
        // By the primary key alone, so that the planner cannot choose another index. The events of another owner's refund are not read, so that
        // the response takes as long as for an unknown id.
        `SELECT ${eventColumns} FROM refund AS r
         CROSS JOIN LATERAL (SELECT * FROM refund_event WHERE refund_id = r.id AND position IS NOT NULL OFFSET 0) AS e
         WHERE r.id = $1 AND r.organization_id IS NOT DISTINCT FROM $2 AND r.environment IS NOT DISTINCT FROM $3::environment
         ORDER BY e.seq`,
        [refundId, organizationId, environment],
      )
    : [];
  // Every refund has at least one event.
  if (rows.length === 0) throw refundNotFound();
  return rows.map(toPublicEvent);
}
