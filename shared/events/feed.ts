import { setTimeout as sleep } from 'node:timers/promises';
import type { Reads } from '../platform/database.ts';
import type { PlatformDependencies } from '../platform/dependencies.ts';
import { ServiceError } from '../platform/errors.ts';
import { isId } from '../platform/ids.ts';
import { warnSparingly } from '../platform/log.ts';
import { type SharedStatement, shareQuestion } from '../platform/shared-statement.ts';
import { isRefundId, type RefundOwner } from '../refunds/model/refund.ts';
import { refundNotFound } from '../refunds/queries/find-refunds.ts';
import {
  eventColumns,
  type PublicEvent,
  type PublicEventType,
  type ReadEvent,
  toPublicEvent,
} from './event.ts';

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

const pollIntervalMs = 25;

/** The pause after a query that failed. */
const failurePauseMs = 1_000;

/** The ordered feed of public events. prisma/functions/settled_event_position.sql says why it has no gaps. */
export class EventFeed {
  readonly #reads: Reads;
  readonly #closing: AbortSignal;
  readonly #readPage: SharedStatement<string, ReadPage | null>;
  readonly #warn: (error: unknown) => void;
  readonly #waiters = new Set<Waiter>();
  #isPolling = false;

  /** @param closing ends all waiting. */
  constructor({ reads, log }: Pick<PlatformDependencies, 'reads' | 'log'>, closing: AbortSignal) {
    this.#reads = reads;
    this.#closing = closing;
    this.#warn = warnSparingly(log, 'looking for events failed; it will be repeated');
    this.#readPage = shareQuestion((question) => readPage(reads, JSON.parse(question)));
    closing.addEventListener('abort', () => {
      for (const waiter of this.#waiters) this.#dismiss(waiter);
    });
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
    const hasNews = await this.#untilNews(question, page.readTo, waitMs);
    return toEventPage(question, hasNews ? await this.#find(question) : page);
  }

  /** How many requests wait at the moment. */
  get waiting(): number {
    return this.#waiters.size;
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

  /** @returns whether there is an event after the position; false when the time is over or the process closes. */
  async #untilNews(question: Question, readTo: bigint, waitMs: number): Promise<boolean> {
    if (this.#closing.aborted) return false;
    return await new Promise((resolve) => {
      const timer = setTimeout(() => this.#dismiss(waiter), waitMs);
      const waiter: Waiter = { question, readTo, resolve, timer, hasNews: false };
      this.#waiters.add(waiter);
      if (!this.#isPolling) void this.#poll();
    });
  }

  /** One query per round for all requests that wait, and a second one only when there are new events. */
  async #poll(): Promise<void> {
    this.#isPolling = true;
    while (this.#waiters.size > 0) {
      await sleep(pollIntervalMs);
      const round = [...this.#waiters];
      await this.#lookForNews(round).catch(async (error: unknown) => {
        this.#warn(error);
        await sleep(failurePauseMs, null, { ref: false, signal: this.#closing }).catch(() => {});
      });
      for (const waiter of round) if (waiter.hasNews) this.#dismiss(waiter);
    }
    this.#isPolling = false;
  }

  async #lookForNews(round: readonly Waiter[]): Promise<void> {
    const settled = await settledPosition(this.#reads);
    const behind = round.filter(({ readTo }) => readTo < settled);
    if (behind.length === 0) return;
    const found = await findNews(this.#reads, behind, settled);
    for (const [index, waiter] of behind.entries()) {
      waiter.readTo = settled;
      waiter.hasNews = found.has(index);
    }
  }

  #dismiss(waiter: Waiter): void {
    clearTimeout(waiter.timer);
    this.#waiters.delete(waiter);
    waiter.resolve(waiter.hasNews);
  }
}

/** A request that waits for an event. */
interface Waiter {
  question: Question;
  readTo: bigint;
  hasNews: boolean;
  resolve: (hasNews: boolean) => void;
  /** Each waiter has its own timer, so that a slow database delays no response. */
  timer: NodeJS.Timeout;
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

async function settledPosition(reads: Reads): Promise<bigint> {
  const [row] = await reads.query<{ settled: bigint }>('SELECT settled_event_position() AS settled', []);
  if (row === undefined) throw new Error('settled_event_position() returned no row');
  return row.settled;
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
      waiters.map(({ question }) => question.organizationId),
      waiters.map(({ question }) => question.environment),
      waiters.map(({ readTo }) => readTo),
      waiters.map(({ question }) => question.type ?? null),
      settled,
    ],
  );
  return new Set(rows.map(({ place }) => Number(place) - 1));
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
