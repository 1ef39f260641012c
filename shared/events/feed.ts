import { type SharedStatement, shareQuestion } from '../platform/concurrency/shared-statement.ts';
import { SharedWait } from '../platform/concurrency/shared-wait.ts';
import type { Reads } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { isId } from '../platform/ids.ts';
import type { Logger } from '../platform/log.ts';
import type { PublicEventType } from '../refunds/model/event-types.ts';
import { isRefundId, type RefundOwner } from '../refunds/model/refund.ts';
import { refundNotFound } from '../refunds/queries/find-refunds.ts';
import { eventColumns, type PublicEvent, type ReadEvent, toPublicEvent } from './event.ts';

/** What a client reads of its feed. */
interface EventListing {
  /** The id of the event to continue after; undefined begins with the first one. */
  after: string | undefined;
  /** Undefined for all types. */
  type: PublicEventType | undefined;
  limit: number;
}

interface EventPage {
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
  constructor(deps: { reads: Reads; log: Logger }, closing: AbortSignal) {
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
  ): Promise<EventPage> {
    const { after, type, limit } = asked;
    const question: Question = { organizationId, environment, after, type, limit };
    const page = await this.#find(question);
    if (page.events.length > 0 || waitMs <= 0) return toEventPage(question, page);
    const awaited = { organizationId, environment, type, readTo: page.readTo };
    const hasNews = await this.#watcher.waitFor(awaited, waitMs);
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
        // The events of another owner's refund are not read, so that the response takes as long as for an unknown id.
        `SELECT ${eventColumns} FROM refund AS r
         CROSS JOIN LATERAL (SELECT * FROM refund_event WHERE refund_id = r.id AND position IS NOT NULL) AS e
         WHERE r.id = $1 AND r.organization_id = $2 AND r.environment = $3::environment
         ORDER BY e.seq`,
        [refundId, organizationId, environment],
      )
    : [];
  // Every refund has at least one event.
  if (rows.length === 0) throw refundNotFound();
  return rows.map(toPublicEvent);
}

/** What a request waits for: an event of an owner after a position of the feed. */
interface AwaitedEvent extends RefundOwner {
  /** Undefined for all types. */
  type: PublicEventType | undefined;
  /** There is no such event up to this position. */
  readTo: bigint;
}

type Waiter = AwaitedEvent & { hasNews: boolean };

/** Waits for events. A round is one query for all requests, and a second one only when there are new events. */
class EventWatcher extends SharedWait<Waiter> {
  /** @param closing ends all waiting. */
  constructor({ reads, log }: { reads: Reads; log: Logger }, closing: AbortSignal) {
    super({
      look: (round) => withNews(reads, round),
      warning: 'looking for events failed; it will be repeated',
      ...{ log, closing },
    });
  }

  /** @returns whether there is such an event; false when the time is over or the process closes. */
  async waitFor(awaited: AwaitedEvent, timeoutMs: number): Promise<boolean> {
    const waiter: Waiter = { ...awaited, hasNews: false };
    await this.wait(waiter, timeoutMs);
    return waiter.hasNews;
  }
}

async function withNews(reads: Reads, round: readonly Waiter[]): Promise<Waiter[]> {
  const [row] = await reads.query<{ settled: bigint }>('SELECT settled_event_position() AS settled', []);
  if (row === undefined) throw new Error('settled_event_position() returned no row');
  const { settled } = row;
  const behind = round.filter(({ readTo }) => readTo < settled);
  if (behind.length === 0) return [];
  const found = await findNews(reads, behind, settled);
  for (const [index, waiter] of behind.entries()) {
    waiter.readTo = settled;
    waiter.hasNews = found.has(index);
  }
  return behind.filter(({ hasNews }) => hasNews);
}

/** Which of the requests have an event up to the settled position, by their indexes. */
async function findNews(reads: Reads, waiters: readonly Waiter[], settled: bigint): Promise<Set<number>> {
  const rows = await reads.query<{ place: bigint }>(
    `SELECT asked.place FROM unnest($1::text[], $2::environment[], $3::bigint[], $4::text[])
       WITH ORDINALITY AS asked(organization_id, environment, read_to, type, place)
     CROSS JOIN LATERAL (
       SELECT FROM refund_event AS e
       WHERE e.organization_id = asked.organization_id AND e.environment = asked.environment
         AND e.position > asked.read_to AND e.position <= $5 AND (asked.type IS NULL OR e.type = asked.type)
       LIMIT 1
     ) AS found`,
    [
      waiters.map(({ organizationId }) => organizationId),
      waiters.map(({ environment }) => environment),
      waiters.map(({ readTo }) => readTo),
      waiters.map(({ type }) => type ?? null),
      settled,
    ],
  );
  return new Set(rows.map(({ place }) => Number(place) - 1));
}
