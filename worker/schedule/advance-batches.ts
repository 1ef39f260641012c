import pLimit, { type LimitFunction } from 'p-limit';
import { maxRows, type PauseReason, type RowContent, type RowState } from '#shared/batches/batch.ts';
import { findRequester, mayRequest, requestOfRow } from '#shared/batches/requester.ts';
import type { Dependencies } from '#shared/dependencies.ts';
import type { Database, RefundBatch } from '#shared/platform/database.ts';
import { errorCatalogue, ServiceError } from '#shared/platform/errors.ts';
import { redact } from '#shared/platform/log.ts';
import { requestDigestOf } from '#shared/platform/request-digest.ts';
import { processorNames } from '#shared/processors/registry.ts';
import { type CreatedRefund, createRefund, findByKey } from '#shared/refunds/lifecycle/create.ts';
import type { RefundRequest } from '#shared/refunds/lifecycle/decide.ts';
import { toItems } from '#shared/refunds/model/rows.ts';
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

/** A slice that has taken this long stores nothing more: once its lease has ended, the batch may be paused, and its rows sent again. */
const longestMs = leaseMs - 20_000;

/** After a slice in which no row ended, because a processor or the database is down. */
const pauseMs = 10_000;

/** Slices that a process works on side by side, each of another owner, so that one whose processor hangs holds up no other. */
const lanes = 8;

/** How often a process looks for batches that are due while there are none. */
const lookMs = 250;

/** What came of a row: a row that may succeed later waits. */
interface RowOutcome {
  number: number;
  state: RowState;
  refundId?: string;
  errorCode?: string;
  errorMessage?: string;
}

/** The owners of the slices that are under way in a process. */
interface OwnersUnderWay {
  names: Set<string>;
  /** One lease at a time, so that the next one knows the owner of the one before. */
  leasing: LimitFunction;
}

const noOwners = (): OwnersUnderWay => ({ names: new Set(), leasing: pLimit(1) });

/** Tasks that advance the batches that are due, each one slice at a time. */
export function batchTasks(deps: Dependencies): Task[] {
  const owners = noOwners();
  return Array.from({ length: lanes }, () => ({
    name: 'advanceBatches',
    intervalMs: lookMs * lanes,
    async run(closing) {
      while (!closing.aborted && (await advanceOneBatch(deps, owners))) {}
    },
  }));
}

/**
 * Takes the batch that has been due for longest, of an owner without a slice under way, and creates the refunds of its next rows. A row
 * that was begun by a worker that died is begun again: its idempotency key finds the refund. A batch that is to be paused is paused
 * instead, once the refunds of all rows are known.
 * @returns false when no batch is due.
 */
export async function advanceOneBatch(
  deps: Dependencies,
  { names, leasing }: OwnersUnderWay = noOwners(),
): Promise<boolean> {
  const since = performance.now();
  const leased = await leasing(async () => {
    const found = await leaseBatch(deps, [...names]);
    if (found !== undefined) names.add(found.owner);
    return found;
  });
  if (leased === undefined) return false;
  const isLate = () => performance.now() - since >= longestMs;
  await advanceLeased(deps, leased.id, isLate).finally(() => names.delete(leased.owner));
  return true;
}

/** Dependencies that store no refund from the moment at which the lease may have ended. */
function refusingLateRefunds(deps: Dependencies, isLate: () => boolean): Dependencies {
  const { create } = deps.statements;
  return {
    ...deps,
    statements: {
      ...deps.statements,
      async create(item) {
        if (!isLate()) return await create(item);
        throw new ServiceError('service_unavailable', 'The worker was too slow. The row is tried again.');
      },
    },
  };
}

/** Creates the refunds of a leased batch's next rows, or stops the batch. Records nothing once it is late. */
async function advanceLeased(deps: Dependencies, batchId: string, isLate: () => boolean): Promise<void> {
  const batch = await deps.db.refundBatch.findUniqueOrThrow({ where: { id: batchId } });
  const requester = await findRequester(deps.db, batch);
  const hasEnded = !(await mayRequest(deps, batch, requester));
  const isStopped = hasEnded || batch.pauseReason !== null;
  const waiting = await deps.db.$queryRaw<{ number: number; content: RowContent }[]>`
    SELECT number, content FROM refund_batch_row WHERE batch_id = ${batchId} AND state = 'waiting'
    ORDER BY attempts, number LIMIT ${isStopped ? maxRows : slice.rows}`;
  const rows = waiting.map(({ number, content }) => ({
    number,
    request: requestOfRow(batch, requester, number, content),
  }));
  const outcomes = isStopped
    ? await findRefunds(deps, batch, rows)
    : await createRefunds(refusingLateRefunds(deps, isLate), batch, rows);
  if (isLate()) return;
  await recordSlice(deps.db, batchId, outcomes);
  const isSettled = isStopped && outcomes.every(({ state }) => state !== 'waiting');
  if (isSettled) await stopBatch(deps.db, batch, hasEnded ? 'requester_ended' : 'requested');
}

/**
 * None while a recovery is required: refunds of rows may have been made before the restore, and only the recovery puts them back.
 * @param busy owners whose batches are left out.
 * @returns a batch that is due and now leased.
 */
async function leaseBatch(
  { db, positionMarks }: Pick<Dependencies, 'db' | 'positionMarks'>,
  busy: readonly string[],
): Promise<{ id: string; owner: string } | undefined> {
  const [leased] = await db.$queryRaw<{ id: string; owner: string }[]>`
    UPDATE refund_batch SET due_at = service_time() + ${leaseMs} * interval '1 millisecond'
    WHERE (SELECT may_advance(${toItems(positionMarks.reached)}::jsonb, service_time())) AND id = (
      SELECT id FROM refund_batch AS batch
      WHERE due_at <= service_time() AND concat_ws('/', organization_id, environment) <> ALL (${[...busy]}::text[])
        AND (pause_reason IS NOT NULL OR ${slice.rows} > (
        SELECT count(*) FROM unnest(${processorNames}::text[]) AS named(processor) CROSS JOIN LATERAL (
          SELECT FROM refund_work AS w
          WHERE w.processor = named.processor AND w.organization_id = batch.organization_id
            AND w.environment = batch.environment AND w.due_at <= service_time() LIMIT ${slice.rows}) AS due))
      ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id, concat_ws('/', organization_id, environment) AS owner`;
  return leased;
}

/** Pauses a batch, unless someone has taken it over since, or has resumed it after it was to be paused on request. */
async function stopBatch(db: Database, { id, actor }: RefundBatch, reason: PauseReason): Promise<void> {
  await db.$executeRaw`
    UPDATE refund_batch SET status = 'paused', pause_reason = ${reason}, due_at = NULL, updated_at = service_time()
    WHERE id = ${id} AND actor = ${actor} AND status = 'processing' AND (${reason} = 'requester_ended' OR pause_reason = ${reason})`;
}

interface RequestedRow {
  number: number;
  request: RefundRequest;
}

/** Creates the refunds of rows, as many as the time allows, and none once their requester may not request them any more. */
async function createRefunds(
  deps: Dependencies,
  batch: RefundBatch,
  rows: readonly RequestedRow[],
): Promise<RowOutcome[]> {
  const endsAt = performance.now() + sliceMs;
  return await outcomesOf(deps, batch, rows, async (request) => {
    if (performance.now() > endsAt) return null;
    const requester = await findRequester(deps.db, batch);
    return (await mayRequest(deps, batch, requester)) ? await createRefund(deps, request) : null;
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

/** Records what came of rows, the counts and when the batch is due again. Rows that another worker has recorded stay as they are. */
async function recordSlice(db: Database, batchId: string, outcomes: readonly RowOutcome[]): Promise<void> {
  await db.$executeRaw`
    WITH outcome AS (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(outcomes)}::jsonb)
        AS o(number int, state text, "refundId" text, "errorCode" text, "errorMessage" text)
    ), recorded AS (
      UPDATE refund_batch_row AS row SET
        state = outcome.state, refund_id = outcome."refundId", error_code = outcome."errorCode",
        error_message = outcome."errorMessage", attempts = row.attempts + 1,
        -- What a refund has is kept with the refund alone.
        content = CASE WHEN outcome.state = 'waiting' THEN row.content END
      FROM outcome WHERE row.batch_id = ${batchId} AND row.number = outcome.number AND row.state = 'waiting'
      RETURNING row.state
    ), ended AS (
      SELECT count(*)::int AS rows, count(*) FILTER (WHERE state = 'rejected')::int AS rejected FROM recorded WHERE state <> 'waiting')
    UPDATE refund_batch SET
      waiting_count = waiting_count - ended.rows, rejected_count = rejected_count + ended.rejected, updated_at = service_time(),
      status = CASE WHEN waiting_count = ended.rows THEN 'completed' ELSE status END,
      pause_reason = CASE WHEN waiting_count > ended.rows THEN pause_reason END,
      completed_at = CASE WHEN waiting_count = ended.rows THEN service_time() END,
      due_at = CASE WHEN status = 'processing' AND waiting_count > ended.rows
        THEN service_time() + CASE WHEN ended.rows = 0 THEN ${pauseMs} ELSE 0 END * interval '1 millisecond' END
    FROM ended WHERE id = ${batchId}`;
}
