import type { Dependencies } from '#shared/dependencies.ts';
import { failedRequestDays } from '#shared/organizations/failed-requests.ts';
import { maxFourEyesDays } from '#shared/organizations/organization-settings.ts';
import { failuresKeptMs } from '#shared/people/sign-in/lockout.ts';
import { Prisma } from '#shared/platform/database.ts';
import { scheduleActor } from '#shared/reconciliation/runs.ts';
import { receivedEventDays } from '#shared/refunds/queries/received-events.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** Long enough to audit a year in the month after it. */
const reconciliationKeptMs = 400 * dayMs;

/** Long enough to clear up a batch. Its refunds are kept. */
const batchKeptMs = 90 * dayMs;

/**
 * Rows that one statement deletes, so that none takes long. The statements choose them in an array, which is computed once; a
 * subquery may be computed again for each row.
 */
const batchSize = 1_000;

type RetentionDependencies = Pick<Dependencies, 'db' | 'clock'> & {
  /** Aborted when the worker closes, so that retention stops between two statements. */
  closing?: AbortSignal;
};

type Expiry = readonly [table: string, column: string, keptMs: number];

/** Deletes the rows whose time in a column is this long ago. */
const expiring =
  (...expiries: readonly Expiry[]) =>
  async (deps: RetentionDependencies) => {
    for (const [name, column, keptMs] of expiries) {
      const [table, time] = [Prisma.raw(name), Prisma.raw(column)];
      await inBatches(
        deps,
        () => deps.db.$executeRaw`
          DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM ${table} WHERE ${time} <= ${ago(deps, keptMs)} LIMIT ${batchSize} FOR UPDATE SKIP LOCKED))`,
      );
    }
  };

/** What is deleted when, by the names of the tasks. */
export const retention = {
  // What an event led to is in the refund's timeline, which is kept. One that is repeated later is refused as too old, or read as new.
  expireProcessorEvents: expiring(['processor_event', 'received_at', receivedEventDays * dayMs]),
  // An accepted one keeps two people from approving each other's refunds for up to this long.
  expireInvitations: expiring(['invitation', 'expires_at', maxFourEyesDays * dayMs]),
  expireSessions: expiring(['session', 'expires_at', 0], ['lockout', 'last_failed_at', failuresKeptMs]),
  // States that last longer cause another notification. It is deleted whether or not it could be sent.
  expireNotifications: expiring(['notification', 'created_at', 30 * dayMs], ['mailed_link', 'expires_at', 0]),
  expireFailedRequests: expiring(['failed_request', 'created_at', failedRequestDays * dayMs]),
  expireReconciliations,
  expireBatches,
  expireWebhooks,
};

/**
 * Deletes old reconciliation runs and their findings. The last successful scheduled run of each account is kept, because the
 * next window begins where it ended.
 */
async function expireReconciliations(deps: RetentionDependencies): Promise<void> {
  const { db } = deps;
  const before = ago(deps, reconciliationKeptMs);
  // Account by account, because the indexes begin with it.
  const expired = Prisma.sql`
    SELECT run.id FROM (
      SELECT id FROM processor_account WHERE parent_id IS NULL
      UNION ALL SELECT id FROM processor_account WHERE used_at IS NOT NULL) AS account
    CROSS JOIN LATERAL (
      SELECT id FROM reconciliation_run
      WHERE account_id = account.id AND started_at < ${before} AND finished_at < ${before}
        AND id IS DISTINCT FROM (
          SELECT id FROM reconciliation_run
          WHERE account_id = account.id AND actor = ${scheduleActor} AND finished_at IS NOT NULL AND failure IS NULL
          ORDER BY window_end DESC LIMIT 1)) AS run`;
  await inBatches(
    deps,
    () => db.$executeRaw`
      DELETE FROM reconciliation_finding WHERE ctid = ANY (ARRAY(
        SELECT finding.ctid FROM (${expired}) AS run
        CROSS JOIN LATERAL (
          SELECT ctid FROM reconciliation_finding WHERE run_id = run.id FOR UPDATE SKIP LOCKED) AS finding
        LIMIT ${batchSize}))`,
  );
  await inBatches(
    deps,
    () => db.$executeRaw`
      DELETE FROM reconciliation_run WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM reconciliation_run AS run
        WHERE id = ANY (ARRAY(${expired} LIMIT ${batchSize}))
          AND NOT EXISTS (SELECT FROM reconciliation_finding WHERE run_id = run.id)
        FOR UPDATE SKIP LOCKED))`,
  );
}

/**
 * Deletes batches that have not changed for long, unless they are processing. Their refunds keep the idempotency keys of the rows. Each is
 * deleted with all of its rows by one statement, so that no one resumes it without some of them.
 */
async function expireBatches(deps: RetentionDependencies): Promise<void> {
  await inBatches(
    deps,
    () => deps.db.$executeRaw`
      WITH expired AS MATERIALIZED (
        SELECT id FROM refund_batch WHERE updated_at < ${ago(deps, batchKeptMs)} AND status <> 'processing'
        LIMIT 1 FOR UPDATE SKIP LOCKED
      ), emptied AS (
        DELETE FROM refund_batch_row WHERE batch_id = ANY (ARRAY(SELECT id FROM expired)))
      DELETE FROM refund_batch WHERE id = ANY (ARRAY(SELECT id FROM expired))`,
    1,
  );
}

/**
 * Deletes webhook deliveries that ended, with their attempts, when they are old or their endpoint was deleted; then the endpoints
 * that were deleted and have none left.
 */
async function expireWebhooks(deps: RetentionDependencies & Pick<Dependencies, 'settings'>): Promise<void> {
  const { db, settings } = deps;
  const before = ago(deps, settings.WEBHOOK_RETENTION_DAYS * dayMs);
  await inBatches(
    deps,
    () => db.$executeRaw`
      DELETE FROM webhook_delivery WHERE ctid = ANY (ARRAY(
        SELECT delivery.ctid FROM webhook_endpoint AS endpoint
        -- Endpoint by endpoint, because the index begins with it.
        CROSS JOIN LATERAL (
          SELECT ctid FROM webhook_delivery
          WHERE endpoint_id = endpoint.id AND status <> 'pending'
            AND created_at < CASE WHEN endpoint.deleted_at IS NULL THEN ${before}::timestamptz ELSE 'infinity' END
          ORDER BY created_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED) AS delivery
        LIMIT ${batchSize}))`,
  );
  await inBatches(
    deps,
    () => db.$executeRaw`
      DELETE FROM webhook_endpoint WHERE id = ANY (ARRAY(
        SELECT id FROM webhook_endpoint AS endpoint
        WHERE deleted_at IS NOT NULL AND NOT EXISTS (SELECT FROM webhook_delivery WHERE endpoint_id = endpoint.id)
        LIMIT ${batchSize} FOR UPDATE SKIP LOCKED))`,
  );
}

function ago({ clock }: Pick<Dependencies, 'clock'>, ms: number): Date {
  return new Date(clock.now().getTime() - ms);
}

/**
 * Repeats a statement until it finds less than a full batch, or the worker closes; what other workers have locked is left to them.
 * @param full how many rows the statement deletes at most.
 */
async function inBatches(
  { closing }: RetentionDependencies,
  deleteBatch: () => Promise<number>,
  full = batchSize,
): Promise<void> {
  for (;;) {
    const count = await deleteBatch();
    if (count < full || closing?.aborted === true) return;
  }
}
