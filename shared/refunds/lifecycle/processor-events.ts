import { type SharedStatement, shareStatement } from '../../platform/concurrency/shared-statement.ts';
import { SharedWait } from '../../platform/concurrency/shared-wait.ts';
import type { Reads } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { isId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/log.ts';
import type { RefundQueues } from '../../platform/queues.ts';
import type { AbilityState } from '../../processors/accounts/abilities.ts';
import type { Connection, ProcessorConnections } from '../../processors/accounts/connections.ts';
import type { WebhookEvent, WebhookRequest, WebhookSubject } from '../../processors/contract/processor.ts';
import { toItems } from '../model/rows.ts';
import type { RefundStatements } from './statements.ts';

/** What an event says: an item of `compare_processor_events`. */
type EventItem = { accountId: string; connectedAccount?: string | null } & Partial<WebhookSubject>;

/** An item of `receive_processor_events`. */
export type ReceivedItem = EventItem & Pick<WebhookEvent, 'externalEventId' | 'type'>;

export interface ReceivedResult {
  outcome: 'agrees' | 'recorded' | 'duplicate';
  to_resync: string[];
}

/** How an event compares with the record. */
interface Comparison {
  /** When the event's account was last changed; null when there is none. */
  accountUpdatedAt: Date | null;
  /** What is on record of the account's webhooks; null when nothing is. */
  webhooks: AbilityState['state'] | null;
  agrees: boolean;
  /** True when it differs, and a worker may be about to record the same. */
  isLeased: boolean;
}

interface WaitingEvent {
  item: EventItem;
  latest: Comparison;
}

/** Compares events of processors with the record. Concurrent events share a statement. */
export class EventComparisons extends SharedWait<WaitingEvent> {
  readonly compare: SharedStatement<EventItem, Comparison>;

  /** @param closing ends all waiting. */
  constructor({ reads, log }: { reads: Reads; log: Logger }, closing: AbortSignal) {
    super({
      look: (round) => compareAgain(reads, round),
      warning: 'comparing events with the record failed; it will be repeated',
      ...{ log, closing },
    });
    this.compare = shareStatement((items) => readComparisons(reads, items));
  }

  /** Compares an event again until no worker has its refund under lease, or the time is over. */
  async compareLater(item: EventItem, latest: Comparison, timeoutMs: number): Promise<Comparison> {
    const waiting: WaitingEvent = { item, latest };
    await this.wait(waiting, timeoutMs);
    return waiting.latest;
  }
}

async function compareAgain(reads: Reads, round: readonly WaitingEvent[]): Promise<WaitingEvent[]> {
  const items = round.map(({ item }) => item);
  for (const [at, latest] of (await readComparisons(reads, items)).entries()) {
    const waiting = round[at];
    if (waiting !== undefined) waiting.latest = latest;
  }
  return round.filter(({ latest }) => !latest.isLeased);
}

async function readComparisons(reads: Reads, items: readonly EventItem[]): Promise<Comparison[]> {
  return await reads.query<Comparison>(
    `SELECT account_updated_at AS "accountUpdatedAt", to_resync = '{}' AND stale = '{}' AS agrees, is_held AS "isLeased",
       (SELECT a.abilities->'webhooks'->>'state' FROM processor_account AS a
        WHERE a.id = $1::jsonb->c.item->>'account_id') AS webhooks
     FROM compare_processor_events($1::jsonb) AS c ORDER BY c.item`,
    [toItems(items)],
  );
}

/** Where a request of a processor was sent. */
interface WebhookAddress {
  processor: string;
  accountId: string;
}

/** The dependencies of receiving events. */
interface EventDependencies {
  connections: ProcessorConnections;
  statements: RefundStatements;
  queues: RefundQueues;
  events: EventComparisons;
}

/**
 * How a webhook was handled.
 * - `agrees`: the event says what is on record, or is about nothing of ours; nothing is stored.
 * - `recorded`: the event differs. It is stored, and its refund or payment is read again.
 * - `duplicate`: the same event was recorded before.
 */
type WebhookReceipt =
  | { outcome: 'agrees' | 'recorded' | 'duplicate'; event: WebhookEvent }
  | { outcome: 'not-verified'; reason: string };

/**
 * Verifies a webhook and records its event if that differs from the record; see
 * prisma/functions/events/receive_processor_events.sql.
 * @param waitMs how long the event may wait for the worker that has its refund under lease.
 * @throws ServiceError not_found for an address without an account.
 * @throws when the database is unavailable. The processor has to send the event again then.
 */
export async function receiveWebhook(
  deps: EventDependencies,
  address: WebhookAddress,
  request: WebhookRequest,
  waitMs: number,
): Promise<WebhookReceipt> {
  const { accountId } = address;
  const { found, comparison, connection } = await withAccount(
    deps,
    address,
    async ({ account, processor }) => {
      const verdict = await processor.verifyWebhook(request);
      const event = verdict.kind === 'verified' ? verdict.event : null;
      // An event of the account's other environment is about nothing of this one.
      const isOurs = (event?.environment ?? account.environment) === account.environment;
      const subject = isOurs ? (event?.subject ?? null) : null;
      return { verdict, item: { accountId, connectedAccount: event?.account ?? null, ...subject } };
    },
  );
  const { verdict, item } = found;
  await deps.connections.noteWebhook(connection, verdict, comparison.webhooks);
  if (verdict.kind === 'not-verified') return { outcome: 'not-verified', reason: verdict.reason };
  const { event } = verdict;
  const latest = comparison.isLeased ? await deps.events.compareLater(item, comparison, waitMs) : comparison;
  return { outcome: latest.agrees ? 'agrees' : await record(deps, address, event, item), event };
}

async function record(
  { statements, queues }: Pick<EventDependencies, 'statements' | 'queues'>,
  { processor }: WebhookAddress,
  { externalEventId, type }: WebhookEvent,
  item: EventItem,
): Promise<ReceivedResult['outcome']> {
  const { outcome, to_resync: refundIds } = await statements.receive({ ...item, externalEventId, type });
  if (refundIds.length > 0) queues.wake(processor);
  return outcome;
}

/**
 * Answers the request by which a processor verifies an address.
 * @returns null for an invalid challenge.
 * @throws ServiceError not_found for an address without an account.
 */
export async function answerChallenge(
  deps: Pick<EventDependencies, 'connections' | 'events'>,
  address: WebhookAddress,
  challenge: string,
): Promise<string | null> {
  const item = { accountId: address.accountId };
  const { found } = await withAccount(deps, address, async ({ processor }) => ({
    answer: processor.answerChallenge(challenge),
    item,
  }));
  return found.answer;
}

/**
 * Examines a request with the credentials of its account. Those that were used last come first: the statement that compares the
 * event also says whether they are still the account's.
 */
async function withAccount<Found extends { item: EventItem }>(
  { connections, events }: Pick<EventDependencies, 'connections' | 'events'>,
  { processor, accountId }: WebhookAddress,
  examine: (connection: Connection) => Promise<Found>,
): Promise<{ found: Found; comparison: Comparison; connection: Connection }> {
  if (!isId('acc', accountId)) throw accountNotFound();
  let connection = connections.last(accountId);
  for (;;) {
    if (connection !== undefined && connection.account.processor !== processor) throw accountNotFound();
    const found = connection === undefined ? null : await examine(connection);
    const comparison = await events.compare(found?.item ?? { accountId });
    const { accountUpdatedAt } = comparison;
    if (accountUpdatedAt === null) throw accountNotFound();
    const isCurrent = connection?.account.updatedAt.getTime() === accountUpdatedAt.getTime();
    if (connection !== undefined && isCurrent && found !== null) return { found, comparison, connection };
    connection = await connections.open(accountId);
  }
}

function accountNotFound(): ServiceError {
  return new ServiceError('not_found', 'Processor account not found.');
}
