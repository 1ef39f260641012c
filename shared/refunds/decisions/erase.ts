import { setTimeout as sleep } from 'node:timers/promises';
import { type AuditAction, writeAudits } from '../../audit/audit-log.ts';
import { beginErasure, erasedText, erasureTimeoutMs } from '../../audit/erasure.ts';
import type { Position } from '../../platform/cursor.ts';
import { type Database, type DatabaseTransaction, Prisma, type Stores } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { eraseFlagWords } from '../changes/work.ts';
import type { RefundOwner } from '../model/refund.ts';
import type { RefundFilter } from '../queries/refund-filter.ts';
import { findFrom, fromNewest } from '../queries/search-refunds.ts';

/** Refunds of one transaction. */
const batchSize = 100;

/** Retries for 30 s. PostgreSQL ends an idle transaction, which may lock a refund, after 15 s. */
const retry = { most: 100, pauseMs: 300 };

/**
 * Erases the personal data of an organization's refunds: metadata, the reasons that people gave, and what processors and webhook
 * receivers said. Amounts, statuses, ids, idempotency keys and timelines stay. Repeating it is harmless. Refunds that another
 * session has locked, or whose attempt with metadata has no outcome yet, are erased after that.
 * @param request.refundIds ids of refunds of this organization.
 * @throws ServiceError service_unavailable when a refund stays locked; those before it were erased.
 */
export async function eraseRefunds(
  deps: Stores,
  request: { organizationId: string; refundIds: readonly string[]; actor: string },
): Promise<void> {
  const { organizationId, refundIds, actor } = request;
  const act = { organizationId, actor, action: 'refund.erased' as const };
  for (let start = 0; start < refundIds.length; start += batchSize) {
    const batch = refundIds.slice(start, start + batchSize);
    let left = batch;
    for (let tried = 0; left.length > 0; tried += 1) {
      if (tried === retry.most) {
        const message = `Not erased, because they are in use: ${left.join(', ')}. Repeat the command in a minute.`;
        throw new ServiceError('service_unavailable', message);
      }
      if (tried > 0) await sleep(retry.pauseMs);
      const erase = (tx: DatabaseTransaction) => eraseBatch(tx, left, act, deps.clock.now());
      left = await deps.db.$transaction(erase, { timeout: erasureTimeoutMs });
    }
    // Until the commit, attempts began with what was being erased. A response that comes later is not stored: see recordAttempts.
    await deps.db.$transaction(async (tx) => {
      await beginErasure(tx);
      await eraseWhatOthersSent(tx, await ownRefunds(tx, organizationId, batch));
    });
  }
}

/** @returns the ids of those that cannot be erased yet: something of them may be left. */
async function eraseBatch(
  tx: DatabaseTransaction,
  ids: readonly string[],
  act: { organizationId: string; actor: string; action: AuditAction },
  now: Date,
): Promise<string[]> {
  await beginErasure(tx);
  const { organizationId } = act;
  const refundIds = await ownRefunds(tx, organizationId, ids);
  // Refunds in progress do not lock these rows. Filters of exports are found by the metadata, so they are erased before it.
  await eraseFromAuditLog(tx, organizationId, refundIds);
  await eraseWhatOthersSent(tx, refundIds);
  // From here on, refunds are locked until the commit.
  const erased = await eraseFromRefunds(tx, refundIds);
  const erasedIds = erased.map(({ id }) => id);
  await tx.$executeRaw`
    UPDATE refund_event SET detail = ${erasedDetail},
      failure_message = CASE WHEN failure_message IS NOT NULL THEN ${erasedText} END,
      -- The digest of what was erased stays for the proof of the timeline. Without the salt no one can try words on it.
      words_salt = NULL
    WHERE refund_id = ANY(${erasedIds})`;
  const entries = erased.map(({ id, environment }) => ({ ...act, target: id, detail: { environment } }));
  await writeAudits(tx, entries, now);
  return refundIds.filter((id) => !erasedIds.includes(id));
}

async function ownRefunds(
  tx: DatabaseTransaction,
  organizationId: string,
  ids: readonly string[],
): Promise<string[]> {
  const own = await tx.refund.findMany({
    where: { id: { in: [...ids] }, organizationId },
    select: { id: true },
  });
  return own.map(({ id }) => id);
}

/** The `detail` of timelines and the audit log without the words of people and processors. */
export const erasedDetail = Prisma.sql`(detail
  || CASE WHEN detail ? 'reason' THEN jsonb_build_object('reason', ${erasedText}::text) ELSE '{}' END
  || CASE WHEN detail ? 'message' THEN jsonb_build_object('message', ${erasedText}::text) ELSE '{}' END)
  #- '{flag,facts,message}' #- '{settled,facts,message}' #- '{against,facts,message}'`;

/** Entries about the refunds, and filters of exports, which name values of their metadata. */
async function eraseFromAuditLog(
  tx: DatabaseTransaction,
  organizationId: string,
  refundIds: readonly string[],
): Promise<void> {
  await tx.$executeRaw`
    UPDATE audit_log SET detail = ${erasedDetail}
    WHERE organization_id = ${organizationId} AND target = ANY(${[...refundIds]})`;
  await tx.$executeRaw`
    UPDATE audit_log SET detail = jsonb_set(detail, '{filter}', to_jsonb(${erasedText}::text))
    WHERE organization_id = ${organizationId} AND action IN ('refunds.export_started', 'refunds.exported')
      AND jsonb_typeof(detail->'filter') = 'object'
      AND EXISTS (
        SELECT FROM refund, jsonb_each_text(metadata) AS erased
        WHERE refund.id = ANY(${[...refundIds]}) AND jsonb_typeof(metadata) = 'object'
          AND (detail->'filter'->'metadata'->>erased.key = erased.value OR detail->'filter'->>'q' = erased.value))`;
}

/** What processors sent about the refunds and their payments, what receivers of webhooks responded, and requests that failed. */
async function eraseWhatOthersSent(tx: DatabaseTransaction, refundIds: readonly string[]): Promise<void> {
  await tx.$executeRaw`
    UPDATE reconciliation_finding SET facts = facts - 'message'
    WHERE refund_id = ANY(${[...refundIds]}) AND facts ? 'message'`;
  await tx.$executeRaw`
    DELETE FROM failed_request AS request USING refund
    WHERE refund.id = ANY(${[...refundIds]}) AND request.organization_id = refund.organization_id
      AND (request.refund_id = refund.id OR strpos(request.path, refund.id) > 0
        OR EXISTS (
          SELECT FROM (
            SELECT refund.transaction_id AS name UNION ALL
            SELECT payment_name.name FROM payment_name WHERE payment_id = refund.payment_id) AS named
          WHERE strpos(concat_ws(' ', request.path, request.message, request.body), named.name) > 0))`;
  // All of them are locked, so that none begins an attempt with what is erased here. The response of one under way is not kept.
  await tx.$executeRaw`
    WITH locked AS MATERIALIZED (
      SELECT id FROM webhook_delivery WHERE refund_id = ANY(${[...refundIds]}) ORDER BY id FOR UPDATE)
    UPDATE webhook_delivery AS delivery SET attempts = to_jsonb(ARRAY(
      SELECT CASE WHEN attempt ? 'responseBody' OR NOT attempt ? 'durationMs'
        THEN attempt || jsonb_build_object('responseBody', ${erasedText}::text) ELSE attempt END
      FROM jsonb_array_elements(attempts) AS attempt))
    FROM locked WHERE delivery.id = locked.id
      AND attempts @? '$[*] ? (exists(@.responseBody ? (@ != "(erased)")) || !exists(@.durationMs) && !exists(@.responseBody))'`;
}

/**
 * Erases the words in the refunds and their work. It never waits for a session that has locked one of them: meanwhile it would keep
 * the others locked, and the two could deadlock. A refund that may have to be sent again keeps its words until its processor has it: other
 * metadata would make that another request.
 * @returns the refunds that it erased.
 */
async function eraseFromRefunds(
  tx: DatabaseTransaction,
  refundIds: readonly string[],
): Promise<{ id: string; environment: string }[]> {
  const locked = await tx.$queryRaw<{ id: string }[]>`
    SELECT id FROM refund WHERE id = ANY(${[...refundIds]}) FOR NO KEY UPDATE SKIP LOCKED`;
  const lockedIds = locked.map(({ id }) => id);
  await eraseFlagWords(tx, lockedIds);
  // The work is locked as well, so that no first attempt begins with metadata that is erased here.
  return await tx.$queryRaw<{ id: string; environment: string }[]>`
    WITH free AS MATERIALIZED (
      SELECT w.refund_id FROM refund_work AS w JOIN refund AS r ON r.id = w.refund_id
      WHERE w.refund_id = ANY(${lockedIds}) AND NOT w.flag_facts ? 'message' AND w.sent_metadata IS NULL
        AND (w.attempt_number = 0 OR r.external_refund_id IS NOT NULL OR NOT coalesce(r.options ? 'instructionsEmail', false))
      FOR UPDATE OF w SKIP LOCKED)
    UPDATE refund SET metadata = NULL, options = nullif(options - 'instructionsEmail', '{}'), failure_message = CASE WHEN failure_message IS NOT NULL THEN ${erasedText} END
    WHERE id = ANY(${lockedIds}) AND (id IN (SELECT refund_id FROM free)
      OR NOT EXISTS (SELECT FROM refund_work AS w WHERE w.refund_id = refund.id))
    RETURNING id, environment::text`;
}

/** Refunds of one search. */
const searchedAtOnce = 1_000;

/**
 * The ids of the refunds that a filter finds and that have something to erase, newest first: also those with something that was
 * stored after an earlier erasure.
 */
export async function findErasable(
  db: Database,
  owner: RefundOwner,
  filter: RefundFilter,
): Promise<string[]> {
  const erasable: string[] = [];
  let start = fromNewest;
  // A batch at a time, because there may be millions.
  for (;;) {
    const found: Position[] = await findFrom(db, owner, filter, start, searchedAtOnce);
    const rows = await db.$queryRaw<{ id: string }[]>`
      SELECT id FROM refund WHERE id = ANY(${found.map(({ id }) => id)}) AND ${hasErasableText}
      ORDER BY created_at DESC, id DESC`;
    erasable.push(...rows.map(({ id }) => id));
    const last = found.at(-1);
    if (last === undefined || found.length < searchedAtOnce) return erasable;
    start = { ...fromNewest, position: last };
  }
}

/** Whether anything of a `refund` is left to erase. Filters of exports need no check: they are erased together with the metadata. */
const hasErasableText = Prisma.sql`(
  metadata IS NOT NULL OR options ? 'instructionsEmail' OR failure_message <> ${erasedText}
  OR EXISTS (
    SELECT FROM refund_event AS event
    WHERE event.refund_id = refund.id AND (event.failure_message <> ${erasedText} OR ${hasErasableTextIn('event.detail')}))
  OR EXISTS (
    SELECT FROM audit_log AS entry
    WHERE entry.organization_id = refund.organization_id AND entry.target = refund.id AND ${hasErasableTextIn('entry.detail')})
  OR EXISTS (SELECT FROM refund_work AS w WHERE w.refund_id = refund.id AND (w.flag_facts ? 'message' OR w.sent_metadata IS NOT NULL))
  OR EXISTS (SELECT FROM reconciliation_finding AS f WHERE f.refund_id = refund.id AND f.facts ? 'message')
  OR EXISTS (
    SELECT FROM webhook_delivery AS delivery
    WHERE delivery.refund_id = refund.id AND delivery.attempts @? '$[*].responseBody ? (@ != "(erased)")'))`;

function hasErasableTextIn(detail: string): Prisma.Sql {
  const column = Prisma.raw(detail);
  return Prisma.sql`(${column}->>'reason' <> ${erasedText} OR ${column} @? '$.**.message ? (@ != "(erased)")')`;
}
