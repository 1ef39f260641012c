import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { maxRows, type RowContent, type RowState, requesterEnded } from '#shared/batches/batch.ts';
import { findRequester, requestOfRow } from '#shared/batches/requester.ts';
import type { Dependencies } from '#shared/dependencies.ts';
import type { Database, RefundBatch } from '#shared/platform/database.ts';
import { errorCatalogue, ServiceError } from '#shared/platform/errors.ts';
import { redact, warnSparingly } from '#shared/platform/log.ts';
import { requestDigestOf } from '#shared/platform/secrets/request-digest.ts';
import { processorNames } from '#shared/processors/registry.ts';
import { type CreatedRefund, createRefund, findByKey } from '#shared/refunds/lifecycle/create.ts';
import type { RefundRequest } from '#shared/refunds/lifecycle/decide.ts';
import { bytes, fromRow, type RowJson, time, toItems } from '#shared/refunds/model/rows.ts';
import { comparedOwnerSql } from '#shared/refunds/queries/refund-filter.ts';
import type { Task } from './schedule.ts';

/**
 * Rows that are taken at a time, and how many of them at once. While as many refunds of the owner are due to be sent, a batch waits, so
 * that other refunds never stand behind more than these.
 */
const slice = { rows: 50, atOnce: 8 };

/** Rows of a slice that are not begun within this time are left to the next one, well before the lease ends. */
const sliceMs = 5_000;
const leaseMs = 60_000;

/** How long before its end a lease no longer allows to store a refund: longer than a statement may take. */
const leaseMarginMs = 20_000;

/** After a slice in which no row ended, because a processor or the database is down. */
const pauseMs = 10_000;

/** Slices that a process works on side by side, each of another owner, so that one whose processor hangs delays no other. */
const mostSlices = 8;

/** How often a process looks for more batches that are due while it works on some. */
const lookMs = 250;

/** What came of a row: a row that may succeed later waits. */
interface RowOutcome {
  number: number;
  state: RowState;
  refundId?: string;
  errorCode?: string;
  errorMessage?: string;
}

/** A batch under a worker's lease, which ends at `dueAt`. Only the worker with the lease records rows or pauses the batch. */
type LeasedBatch = RefundBatch & { dueAt: Date };

/** The task that advances the batches that are due, one slice at a time, those of different owners side by side. */
export function batchTask(deps: Dependencies): Task {
  const warn = warnSparingly(deps.log, 'a slice of a batch failed; another worker takes it over');
  return {
    name: 'advanceBatches',
    intervalMs: 0,
    isDue: ({ batches }) => batches,
    async run(closing) {
      const slices = new Map<string, Promise<void>>();
      try {
        for (;;) {
          const isOpen = slices.size < mostSlices && !closing.aborted;
          const batch = isOpen ? await leaseBatch(deps, [...slices.keys()]) : null;
          if (batch !== null) {
            const owner = ownerOf(batch);
            const begun = advanceLeased(deps, batch).catch(warn);
            const ended = begun.finally(() => slices.delete(owner));
            slices.set(owner, ended);
          } else if (slices.size > 0) await Promise.race([...slices.values(), sleep(lookMs)]);
          else return;
        }
      } finally {
        await Promise.all(slices.values());
      }
    },
  };
}

const ownerOf = ({ organizationId, environment }: RefundBatch) => `${organizationId}/${environment}`;

/**
 * Creates the refunds of a leased batch's next rows. A row that was begun by a worker that died is begun again: its idempotency key
 * finds the refund. A batch that is to be paused is paused instead, once the refunds of all rows are known. Then the rows that are left of
 * one whose requester may not create refunds any more are rejected.
 */
export async function advanceLeased(deps: Dependencies, batch: LeasedBatch): Promise<void> {
  const requester = await findRequester(deps, batch);
  const hasEnded = !requester.mayRequest;
  const isStopped = hasEnded || batch.pauseReason !== null;
  const waiting = await deps.db.$queryRaw<{ number: number; content: RowContent }[]>`
    SELECT number, content FROM refund_batch_row WHERE batch_id = ${batch.id} AND state = 'waiting'
    ORDER BY attempts, number LIMIT ${isStopped ? maxRows : slice.rows}`;
  const rows = waiting.map(({ number, content }) => ({
    number,
    request: requestOfRow(batch, requester, number, content),
  }));
  const outcomes = await (isStopped ? findRefunds : createRefunds)(deps, batch, rows);
  const isSettled = isStopped && outcomes.every(({ state }) => state !== 'waiting');
  const rest = isSettled && hasEnded ? rejectionsOf(rows, outcomes) : [];
  await recordSlice(deps.db, batch, [...outcomes, ...rest], isSettled);
}

/**
 * Leases the batch that has been due for longest. None while a recovery is required: refunds of rows may have been made before the
 * restore, and only the recovery puts them back.
 * @param busy owners whose batches are left out.
 * @returns null when none is due.
 */
export async function leaseBatch(
  { db, positionMarks, settings }: Pick<Dependencies, 'db' | 'positionMarks' | 'settings'>,
  busy: readonly string[],
): Promise<LeasedBatch | null> {
  if (settings.RESTORED) return null;
  const [leased] = await db.$queryRaw<{ batch: RowJson }[]>`
    UPDATE refund_batch SET due_at = service_time() + ${leaseMs} * interval '1 millisecond'
    WHERE (SELECT may_advance(${toItems(positionMarks.reached)}::jsonb, service_time())) AND id = (
      SELECT id FROM refund_batch AS batch
      WHERE due_at <= service_time() AND concat_ws('/', organization_id, environment) <> ALL (${[...busy]}::text[])
        AND (pause_reason IS NOT NULL OR ${slice.rows} > (
        SELECT count(*) FROM unnest(${processorNames}::text[]) AS named(processor)
        CROSS JOIN LATERAL accounts_with_work(named.processor, batch.organization_id, batch.environment) AS account
        CROSS JOIN LATERAL (
          SELECT FROM refund_work AS w
          WHERE w.processor = named.processor AND w.organization_id = batch.organization_id AND w.environment = batch.environment
            AND coalesce(w.parent_id, w.account_id) = account.account_id AND w.due_at <= (SELECT service_time())
          ORDER BY w.due_at LIMIT ${slice.rows}) AS due))
      ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING to_json(refund_batch) AS batch`;
  return leased === undefined ? null : batchFrom(leased.batch);
}

function batchFrom(row: RowJson): LeasedBatch {
  return fromRow<LeasedBatch>(row, {
    ...{ fingerprint: bytes, createdAt: time, updatedAt: time, dueAt: time, completedAt: time, seenAt: time },
  });
}

interface RequestedRow {
  number: number;
  request: RefundRequest;
}

/** Creates the refunds of rows, as many as the time allows, and none once their requester may not request them any more. */
async function createRefunds(
  deps: Dependencies,
  batch: LeasedBatch,
  rows: readonly RequestedRow[],
): Promise<RowOutcome[]> {
  const endsAt = performance.now() + sliceMs;
  const storeUntil = new Date(batch.dueAt.getTime() - leaseMarginMs);
  return await outcomesOf(deps, batch, rows, async (request) => {
    const isBegun = performance.now() <= endsAt && (await findRequester(deps, batch)).mayRequest;
    return isBegun ? await createRefund(deps, { ...request, storeUntil }) : null;
  });
}

/**
 * Finds the refunds that a worker created and could not record before it died. A batch stops only then, because whoever sends the rest of
 * it again must not refund them twice. One statement looks up all rows, so that other batches need not wait.
 */
async function findRefunds(
  deps: Dependencies,
  batch: RefundBatch,
  rows: readonly RequestedRow[],
): Promise<RowOutcome[]> {
  const digestOf = ({ request }: RequestedRow) => requestDigestOf(request, request.idempotency?.key ?? '');
  const found = await deps.db.$queryRaw<{ key: string }[]>`
    SELECT idempotency_key AS key FROM refund WHERE ${comparedOwnerSql(batch)} AND idempotency_key = ANY (${rows.map(digestOf)})`;
  const keys = new Set(found.map(({ key }) => key));
  const created = rows.filter((row) => keys.has(digestOf(row)));
  return await outcomesOf(deps, batch, created, (request) => findByKey(deps, request));
}

/** The rows without an outcome, as rejected. */
function rejectionsOf(rows: readonly RequestedRow[], outcomes: readonly RowOutcome[]): RowOutcome[] {
  const known = new Set(outcomes.map(({ number }) => number));
  const rejected = { state: 'rejected', errorCode: requesterEnded, errorMessage: endedMessage } as const;
  return rows.flatMap(({ number }) => (known.has(number) ? [] : [{ number, ...rejected }]));
}

const endedMessage =
  'The user or API key that created this batch may not create refunds any more. Send the row again to refund it.';

/** @param refundOf the refund of a row; null to leave the row as it is. */
async function outcomesOf(
  { log }: Dependencies,
  { id: batchId }: RefundBatch,
  rows: readonly RequestedRow[],
  refundOf: (request: RefundRequest) => Promise<CreatedRefund | null>,
): Promise<RowOutcome[]> {
  const outcomes = await pLimit(slice.atOnce).map(
    rows,
    async ({ number, request }): Promise<RowOutcome | null> => {
      try {
        const created = await refundOf(request);
        return created && { number, state: 'created', refundId: created.refund.id };
      } catch (error) {
        const isKnown = error instanceof ServiceError;
        if (!isKnown) log.error({ err: error, batchId, row: number }, 'a row of a batch failed');
        const { code, message } = isKnown
          ? error
          : {
              code: 'internal_error' as const,
              message: 'An unexpected error occurred. The row is tried again.',
            };
        const state = errorCatalogue[code].retryable ? 'waiting' : 'rejected';
        return { number, state, errorCode: code, errorMessage: redact(message) };
      }
    },
  );
  return outcomes.filter((outcome) => outcome !== null);
}

/**
 * Records what came of rows, the counts and when the batch is due again; nothing once the lease has passed to another worker. Rows that
 * their requester left may be sent again, so the idempotency key of the batch is free then.
 * @param isSettled whether a batch that is to be paused is paused. It goes on if someone has resumed it since.
 */
async function recordSlice(
  db: Database,
  { id, dueAt }: LeasedBatch,
  outcomes: readonly RowOutcome[],
  isSettled: boolean,
): Promise<void> {
  const hasEnded = outcomes.some(({ errorCode }) => errorCode === requesterEnded);
  await db.$executeRaw`
    WITH leased AS (
      SELECT id, ${isSettled} AND pause_reason IS NOT NULL AS pauses
      FROM refund_batch WHERE id = ${id} AND due_at = ${dueAt} FOR UPDATE
    ), outcome AS (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(outcomes)}::jsonb)
        AS o(number int, state text, "refundId" text, "errorCode" text, "errorMessage" text)
    ), recorded AS (
      UPDATE refund_batch_row AS row SET
        state = outcome.state, refund_id = outcome."refundId", error_code = outcome."errorCode",
        error_message = outcome."errorMessage", attempts = row.attempts + 1,
        -- What a refund has is kept with the refund alone.
        content = CASE WHEN outcome.state = 'waiting' THEN row.content END
      FROM leased CROSS JOIN outcome WHERE row.batch_id = leased.id AND row.number = outcome.number
      RETURNING row.state
    ), ended AS (
      SELECT count(*)::int AS rows, count(*) FILTER (WHERE state = 'rejected')::int AS rejected FROM recorded WHERE state <> 'waiting')
    UPDATE refund_batch AS batch SET
      waiting_count = waiting_count - ended.rows, rejected_count = rejected_count + ended.rejected, updated_at = service_time(),
      status = CASE WHEN waiting_count = ended.rows THEN 'completed' WHEN pauses THEN 'paused' ELSE status END,
      pause_reason = CASE WHEN waiting_count > ended.rows THEN pause_reason END,
      idempotency_key = CASE WHEN NOT ${hasEnded} THEN idempotency_key END,
      completed_at = CASE WHEN waiting_count = ended.rows THEN service_time() END,
      due_at = CASE WHEN waiting_count > ended.rows AND NOT pauses
        THEN service_time() + CASE WHEN ended.rows = 0 THEN ${pauseMs} ELSE 0 END * interval '1 millisecond' END
    FROM ended CROSS JOIN leased WHERE batch.id = leased.id`;
}
