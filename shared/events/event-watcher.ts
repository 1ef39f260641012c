import type { Dependencies } from '../dependencies.ts';
import type { Reads } from '../platform/database.ts';
import { SharedWait } from '../platform/shared-wait.ts';
import type { PublicEventType } from '../refunds/model/event-types.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';

/** What a request waits for: an event of an owner after a position of the feed. */
export interface AwaitedEvent extends RefundOwner {
  /** Undefined for all types. */
  type: PublicEventType | undefined;
  /** There is no such event up to this position. */
  readTo: bigint;
}

type Waiter = AwaitedEvent & { hasNews: boolean };

/** Waits for events. A round is one query for all requests, and a second one only when there are new events. */
export class EventWatcher extends SharedWait<Waiter> {
  /** @param closing ends all waiting. */
  constructor({ reads, log }: Pick<Dependencies, 'reads' | 'log'>, closing: AbortSignal) {
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
