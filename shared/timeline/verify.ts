import { erasedText } from '../audit/erasure.ts';
import { type Database, Prisma, serviceTime } from '../platform/database.ts';
import { erasedDetail } from '../refunds/decisions/erase.ts';
import type { RefundStatus } from '../refunds/model/states.ts';
import { DayDigests, hashOf, type RootOwner, rootOf } from './hashes.ts';
import { openDayAt } from './publish-roots.ts';
import {
  dayOf,
  type HashedEvent,
  lastDayWithRoots,
  nextDay,
  readDay,
  rootBefore,
  rootsOf,
  type StoredRoot,
} from './read-days.ts';

/** What is wrong with a refund's timeline, or with the root of a day, for which `refundId` and `seq` are null. */
export interface TimelineProblem extends RootOwner {
  day: string;
  refundId: string | null;
  seq: number | null;
  problem: string;
}

/** What was compared. */
export interface Verification {
  events: number;
  /** Those of which personal data was erased. */
  erased: number;
  /** Refunds that a recovery after a restore has put back. */
  putBack: number;
  problems: number;
  /** The last roots that agree with the events, with their days. */
  lastRoots: (StoredRoot & { day: string })[];
}

/** An event with what its hash was made of. Only operators and functions of PostgreSQL itself make these columns. */
type VerifiedEvent = HashedEvent & {
  refundId: string;
  seq: number;
  type: string;
  status: RefundStatus;
  salt: string | null;
  wordsDigest: string | null;
  content: (string | null)[];
  words: (string | null)[];
  erasedWords: (string | null)[];
  refund: (string | null)[];
  /** Null when there is no event with the number before. */
  seqBefore: number | null;
  hashBefore: string | null;
  /** Null for the last event. */
  nextSeq: number | null;
  nextHash: string | null;
  /** Whether the refund itself is as its last event says. */
  isAsRefund: boolean;
  refundStatus: RefundStatus;
};

const isoTime = (column: 'e.created_at' | 'r.created_at') =>
  Prisma.sql`to_char(${Prisma.raw(column)} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const erasedFailure = Prisma.sql`CASE WHEN e.failure_message IS NOT NULL THEN ${erasedText} END`;

const verified = {
  columns: Prisma.sql`, e.refund_id AS "refundId", e.seq, e.type, e.status::text,
    encode(e.words_salt, 'hex') AS salt, encode(e.words_digest, 'hex') AS "wordsDigest",
    ARRAY[e.id, e.refund_id, e.seq::text, e.type, e.actor, e.previous_status::text, e.status::text, erased.detail::text,
      ${isoTime('e.created_at')}, e.organization_id, e.environment::text, e.position::text, e.external_refund_id,
      e.failure_code, ${erasedFailure}] AS content,
    ARRAY[e.detail::text, e.failure_message] AS words, ARRAY[erased.detail::text, ${erasedFailure}] AS "erasedWords",
    ARRAY[r.id, r.organization_id, r.environment::text, r.processor, r.transaction_id, r.amount::text, r.currency,
      r.reason::text, r.initiated_by::text, r.requester, ${isoTime('r.created_at')}] AS refund,
    before.seq AS "seqBefore", before.hash AS "hashBefore", next.seq AS "nextSeq", next.hash AS "nextHash",
    r.status = e.status AND (e.position IS NULL OR r.external_refund_id IS NOT DISTINCT FROM e.external_refund_id) AS "isAsRefund",
    r.status::text AS "refundStatus"`,
  joins: Prisma.sql`
    CROSS JOIN LATERAL (SELECT ${erasedDetail} AS detail FROM (SELECT e.detail) AS own) AS erased
    LEFT JOIN LATERAL (
      SELECT seq, encode(hash, 'hex') AS hash FROM refund_event WHERE refund_id = e.refund_id AND seq = e.seq - 1
    ) AS before ON true
    LEFT JOIN LATERAL (
      SELECT seq, encode(hash, 'hex') AS hash FROM refund_event WHERE refund_id = e.refund_id AND seq > e.seq ORDER BY seq LIMIT 1
    ) AS next ON true`,
};

/**
 * Computes the hashes of all events and the roots of all days again, and compares them with those on record. It believes no function
 * that is stored in the database. Its memory does not grow with the number of events.
 * @param options.organizationId only its events; null for all.
 * @param options.since the first day, in UTC; null for all days.
 * @param report gets each problem when it is found.
 */
export async function verifyTimelines(
  db: Database,
  { organizationId, since }: { organizationId: string | null; since: string | null },
  report: (problem: TimelineProblem) => void,
): Promise<Verification> {
  const isAsked = (owner: RootOwner) => organizationId === null || owner.organizationId === organizationId;
  const seen = { events: 0, erased: 0, putBack: 0, problems: 0 };
  const lastRoots = new Map<string, StoredRoot & { day: string }>();
  const found = (problem: TimelineProblem) => {
    seen.problems += 1;
    report(problem);
  };
  const isPublished = await publishedDays(db);
  for await (const day of daysToVerify(db, since)) {
    const digests = new DayDigests();
    for await (const page of readDay<VerifiedEvent>(db, day, verified)) {
      for (const event of page.filter(isAsked)) {
        digests.add(event);
        seen.events += 1;
        if (event.salt === null && event.wordsDigest !== null) seen.erased += 1;
        if (event.type === 'recovery.put_back') seen.putBack += 1;
        for (const problem of problemsOf(event)) found(problem);
      }
    }
    for (const compared of await compareRoots(db, day, digests, { isAsked, isPublished })) {
      if ('problem' in compared) found(compared);
      else lastRoots.set(`${compared.organizationId} ${compared.environment}`, { ...compared, day });
    }
  }
  return { ...seen, lastRoots: [...lastRoots.values()] };
}

/** The days from the first to the last event, and others that have roots, such as one that was dated in the future. */
async function* daysToVerify(db: Database, since: string | null): AsyncGenerator<string> {
  const [events] = await db.$queryRaw<{ first: string | null; last: string }[]>`
    SELECT (min(created_at) AT TIME ZONE 'UTC')::date::text AS first, (max(created_at) AT TIME ZONE 'UTC')::date::text AS last
    FROM refund_event WHERE hash IS NOT NULL`;
  const { first = null, last = '' } = events ?? {};
  const others = await db.$queryRaw<{ day: string }[]>`
    SELECT DISTINCT day::text FROM timeline_root
    WHERE (${first}::date IS NULL OR day NOT BETWEEN ${first}::date AND ${last || null}::date)
      AND (${since}::date IS NULL OR day >= ${since}::date)
    ORDER BY 1`;
  for (const { day } of others) yield day;
  if (first === null) return;
  for (let day = since ?? first; day <= last; day = nextDay(day)) yield day;
}

function problemsOf(event: VerifiedEvent): TimelineProblem[] {
  const { refundId, seq, organizationId, environment } = event;
  const at = { organizationId, environment, day: dayOf(event.createdAt), refundId };
  const problems: TimelineProblem[] = [];
  if (seq > 1 && event.seqBefore === null) problems.push({ ...at, seq: seq - 1, problem: 'missing' });
  else if (hashOfEvent(event) !== event.hash) {
    const problem =
      seq === 1
        ? "changed, or the refund's amount, payment or requester was"
        : `changed, or does not follow seq ${seq - 1}`;
    problems.push({ ...at, seq, problem });
  } else if (!hasOwnWords(event)) problems.push({ ...at, seq, problem: 'its text was changed' });
  if (event.nextSeq !== null && event.nextHash === null)
    problems.push({ ...at, seq: event.nextSeq, problem: 'has no hash' });
  if (event.nextSeq === null && !event.isAsRefund) {
    const { status, refundStatus } = event;
    const problem = `last event, with the status ${status}, but the refund is ${refundStatus} or has another external id`;
    problems.push({ ...at, seq, problem });
  }
  return problems;
}

function hashOfEvent({ wordsDigest, hashBefore, refund, content }: VerifiedEvent): string {
  return hashOf('event', hashBefore ?? hashOf('refund', ...refund), wordsDigest, ...content);
}

/** Without a salt there is nothing but what an erasure leaves, and what has nothing to erase. */
function hasOwnWords({ salt, wordsDigest, words, erasedWords }: VerifiedEvent): boolean {
  if (salt !== null) return hashOf('words', salt, ...words) === wordsDigest;
  return words.every((text, index) => text === erasedWords[index]);
}

/** Days are published in their order. */
async function publishedDays(db: Database): Promise<(day: string) => boolean> {
  const last = await lastDayWithRoots(db, openDayAt(await serviceTime(db)));
  return (day) => last !== null && day <= last;
}

/** Compares the events of a day with its roots. @returns the roots that agree, and the problems. */
async function compareRoots(
  db: Database,
  day: string,
  digests: DayDigests,
  { isAsked, isPublished }: { isAsked: (owner: RootOwner) => boolean; isPublished: (day: string) => boolean },
): Promise<(StoredRoot | TimelineProblem)[]> {
  const keyOf = (owner: RootOwner) => `${owner.organizationId} ${owner.environment}`;
  const roots = new Map((await rootsOf(db, day)).filter(isAsked).map((root) => [keyOf(root), root]));
  const contents = new Map(digests.contents().map((content) => [keyOf(content), content]));
  const compared: (StoredRoot | TimelineProblem)[] = [];
  for (const key of new Set([...roots.keys(), ...contents.keys()])) {
    const [root, content] = [roots.get(key), contents.get(key)];
    const { organizationId, environment } = (root ?? content) as RootOwner;
    const at = { organizationId, environment, day, refundId: null, seq: null };
    if (root === undefined) {
      if (isPublished(day))
        compared.push({ ...at, problem: 'events of a day that was published without a root' });
    } else if (content === undefined) {
      compared.push({ ...at, problem: `all ${root.eventCount} events of the published root are missing` });
    } else if (rootOf(day, content, await rootBefore(db, day, content)) === root.root) {
      compared.push(root);
    } else {
      const counts = `it was made of ${root.eventCount} events, and there are ${content.eventCount}`;
      compared.push({ ...at, problem: `root differs: ${counts}, or the root before it was changed` });
    }
  }
  return compared;
}

/** Refunds of a page of the count. */
const countedAtOnce = 5_000;

/** How many events have no hash, because they are older than the hashes. They are not proven. */
export async function countWithoutHash(db: Database, organizationId: string | null): Promise<number> {
  let count = 0;
  let cursor = '';
  for (;;) {
    const [page] = await db.$queryRaw<{ last: string | null; without: number }[]>`
      SELECT max(page.id) AS last, coalesce(sum(e.count) FILTER (
        WHERE ${organizationId}::text IS NULL OR page.organization_id = ${organizationId}), 0)::int AS without
      FROM (SELECT id, organization_id FROM refund WHERE id > ${cursor} ORDER BY id LIMIT ${countedAtOnce}) AS page
      CROSS JOIN LATERAL (SELECT count(*) FROM refund_event WHERE refund_id = page.id AND hash IS NULL) AS e`;
    if (page == null || page.last === null) return count;
    count += page.without;
    cursor = page.last;
  }
}
