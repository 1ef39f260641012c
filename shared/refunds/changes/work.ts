import type { ServiceSettings } from '../../platform/config.ts';
import type { Database, DatabaseTransaction, Refund, RefundWork } from '../../platform/database.ts';
import { leaseMs } from '../model/attempts.ts';
import type { Flag } from '../model/flags.ts';
import { type RowJson, refundFrom, toItems, workFrom } from '../model/rows.ts';

// All writes of refund_work outside of the SQL functions in prisma/functions/refunds. `npm run check` fails on any other.

interface LeaseDependencies {
  db: Database;
  settings: ServiceSettings;
}

/** A flagged refund under a person's lease. */
export interface FlaggedClaim {
  refund: Refund;
  /** The payment's own id at its processor; null until it was read. */
  externalPaymentId: string | null;
  /** Under the new lease. */
  work: RefundWork;
  /** When it was claimed, in the database's time. */
  now: Date;
  /** True when it is certain that the processor does not have it; see prisma/functions/refunds/is_not_sent.sql. */
  isNotSent: boolean;
}

/**
 * Extends the lease for another call.
 * @returns false when it was lost.
 */
export async function renewLease(
  { db, settings }: LeaseDependencies,
  { work }: { work: RefundWork },
): Promise<boolean> {
  const renewed = await db.$executeRaw`
    UPDATE refund_work SET leased_until = service_time() + ${leaseMs(settings)} * interval '1 millisecond'
    WHERE refund_id = ${work.refundId} AND lease_token = ${work.leaseToken}`;
  return renewed === 1;
}

/**
 * Claims a flagged refund in any status for a person's decision. From then on, results of earlier claims are rejected, and
 * no worker claims it until the decision is recorded or the lease expires. The due time does not change.
 * @param flaggedAt the time of the flag that the person has seen.
 * @returns null when another lease is active, or the flag or the status has changed.
 */
export async function claimFlagged(
  { db, settings }: LeaseDependencies,
  refund: Pick<Refund, 'id' | 'status'>,
  flaggedAt: Date,
): Promise<FlaggedClaim | null> {
  type Row = Omit<FlaggedClaim, 'work' | 'refund'> & Record<'work' | 'refund', RowJson>;
  const [row] = await db.$queryRaw<Row[]>`
    UPDATE refund_work AS w SET
      leased_until = service_time() + ${leaseMs(settings)} * interval '1 millisecond', lease_token = nextval('lease_token')
    FROM refund AS r JOIN payment AS p ON p.id = r.payment_id, recovery AS s
    WHERE w.refund_id = ${refund.id} AND w.flagged_at = ${flaggedAt}
      AND (w.leased_until IS NULL OR w.leased_until <= service_time())
      AND r.id = ${refund.id} AND r.status = ${refund.status}::refund_status AND s.id = 1
    RETURNING to_jsonb(w) AS work, to_jsonb(r) AS refund, p.external_id AS "externalPaymentId", service_time() AS now,
      is_not_sent(r, w, s) AS "isNotSent"`;
  return row === undefined ? null : { ...row, refund: refundFrom(row.refund), work: workFrom(row.work) };
}

/** Ends the lease without a decision. */
export async function releaseFlagged(
  { db }: { db: Database },
  { work }: { work: RefundWork },
): Promise<void> {
  await db.refundWork.updateMany({
    where: { refundId: work.refundId, leaseToken: work.leaseToken },
    data: { leasedUntil: null },
  });
}

/**
 * Ends the work of a flagged refund whose resolution is recorded.
 * @returns null when the lease was lost or the flag has changed: reconciliation may have replaced it, and another person may
 * have dismissed it, in spite of the lease.
 */
export async function endFlaggedWork(
  tx: DatabaseTransaction,
  work: RefundWork,
): Promise<{ isResyncRequested: boolean } | null> {
  const [ended] = await tx.$queryRaw<{ isResyncRequested: boolean }[]>`
    DELETE FROM refund_work
    WHERE refund_id = ${work.refundId} AND lease_token = ${work.leaseToken} AND flagged_at = ${work.flaggedAt}
    RETURNING resync_requested_at IS NOT NULL AS "isResyncRequested"`;
  return ended ?? null;
}

/**
 * Makes a refund that has just been approved due, at the end of its hold unless its processor has it already. A connected account is in use
 * from then on, so that it is reconciled.
 */
export async function startWork(tx: DatabaseTransaction, { id }: Pick<Refund, 'id'>): Promise<void> {
  await tx.$executeRaw`
    WITH used AS (
      UPDATE processor_account SET used_at = service_time()
      WHERE id = (SELECT account_id FROM refund WHERE id = ${id} AND is_connected)
        AND used_at < service_time() - interval '1 hour')
    INSERT INTO refund_work AS w (refund_id, account_id, parent_id, organization_id, environment, processor, due_at,
      waiting_since, resync_requested_at)
    SELECT id, account_id, CASE WHEN is_connected THEN parent_of(account_id) END, organization_id, environment, processor,
      greatest(service_time(), CASE WHEN external_refund_id IS NULL THEN held_until END), service_time(),
      CASE WHEN is_connected AND may_be_lost(refund) THEN service_time() END
    FROM refund WHERE id = ${id}
    ON CONFLICT (refund_id) DO UPDATE SET due_at = excluded.due_at, waiting_since = excluded.waiting_since`;
}

/** Ends the work of a refund, and with it any flag. */
export async function dropWork(tx: DatabaseTransaction, { id }: Pick<Refund, 'id'>): Promise<void> {
  await tx.refundWork.deleteMany({ where: { refundId: id } });
}

/** Ends the work of a refund that is not sent. A worker that has it under lease loses the lease. A flag for an extra refund stays. */
export async function endNotSentWork(tx: DatabaseTransaction, { id }: Pick<Refund, 'id'>): Promise<void> {
  const nothingDue = toItems([{ refundId: id, flag: {} }]);
  await tx.$executeRaw`SELECT continue_refund_works(${nothingDue}::jsonb, service_time())`;
}

/**
 * Requests that a worker reads a refund again from its processor; see prisma/functions/refunds/request_resync.sql.
 * @param tx the caller's database transaction; the caller wakes a worker after the commit.
 * @returns false for a refund that awaits approval: it has never been at the processor.
 */
export async function requestResync(tx: DatabaseTransaction, { id }: Pick<Refund, 'id'>): Promise<boolean> {
  const [row] = await tx.$queryRaw<{ requested: boolean }[]>`SELECT request_resync(${id}) AS requested`;
  return row?.requested ?? false;
}

/** Keeps others from changing the work of a refund until the end of the database transaction. */
export async function lockWork(tx: DatabaseTransaction, { id }: Pick<Refund, 'id'>): Promise<void> {
  await tx.$queryRaw`SELECT 1 FROM refund_work WHERE refund_id = ${id} FOR UPDATE`;
}

/**
 * Flags a refund for an extra refund, in place of any other flag. The caller has locked the payment and the work.
 * @returns false when the refund has moved or is flagged so already, and nothing was changed.
 */
export async function flagForExtra(
  tx: DatabaseTransaction,
  { id, status }: Pick<Refund, 'id' | 'status'>,
  { reason, facts }: Flag & { reason: 'extra_refund' },
): Promise<boolean> {
  const flagged = await tx.$executeRaw`
    INSERT INTO refund_work AS w (refund_id, account_id, parent_id, organization_id, environment, processor,
      flagged_at, flag_reason, flag_facts)
    SELECT id, account_id, CASE WHEN is_connected THEN parent_of(account_id) END, organization_id, environment, processor,
      service_time(), ${reason}, ${JSON.stringify(facts)}::jsonb
    FROM refund WHERE id = ${id} AND status = ${status}::refund_status
    ON CONFLICT (refund_id) DO UPDATE
    SET flagged_at = excluded.flagged_at, flag_reason = excluded.flag_reason, flag_facts = excluded.flag_facts
    WHERE w.flag_reason IS DISTINCT FROM excluded.flag_reason`;
  return flagged === 1;
}

/** Ends the flag of a refund, and its work unless that is due. */
export async function unflag(tx: DatabaseTransaction, { id }: Pick<Refund, 'id'>): Promise<void> {
  const { count } = await tx.refundWork.updateMany({
    where: { refundId: id, dueAt: { not: null } },
    data: { flaggedAt: null, flagReason: null, flagFacts: {} },
  });
  if (count === 0) await dropWork(tx, { id });
}

/**
 * Erases the processor's words in the flags of refunds, except where another session has locked the work: the caller has locked other
 * rows, so that waiting could deadlock.
 */
export async function eraseFlagWords(tx: DatabaseTransaction, refundIds: readonly string[]): Promise<void> {
  await tx.$executeRaw`
    UPDATE refund_work SET flag_facts = flag_facts - 'message' WHERE refund_id = ANY(ARRAY(
      SELECT refund_id FROM refund_work WHERE refund_id = ANY(${[...refundIds]}) AND flag_facts ? 'message'
      FOR UPDATE SKIP LOCKED))`;
}

/** True when it is certain that the processor does not have the refund; see prisma/functions/refunds/is_not_sent.sql. */
export async function isNotSent(tx: DatabaseTransaction, { id }: Pick<Refund, 'id'>): Promise<boolean> {
  const [row] = await tx.$queryRaw<{ isNotSent: boolean }[]>`
    SELECT is_not_sent(r, w, s) AS "isNotSent"
    FROM refund AS r LEFT JOIN refund_work AS w ON w.refund_id = r.id JOIN recovery AS s ON s.id = 1 WHERE r.id = ${id}`;
  if (row === undefined) throw new Error(`No refund is stored as ${id}`);
  return row.isNotSent;
}
