import { createHash } from 'node:crypto';
import { writeAudit } from '../audit/audit-log.ts';
import {
  type Database,
  type DatabaseTransaction,
  type RefundBatch,
  serviceTime,
} from '../platform/database.ts';
import type { Environment } from '../platform/environment.ts';
import { ServiceError } from '../platform/errors.ts';
import { canonicalJson } from '../platform/formats/json.ts';
import { inPieces, type Pieces } from '../platform/formats/pieces.ts';
import { newId } from '../platform/ids.ts';
import { redact } from '../platform/log.ts';
import type { RefundQueues } from '../platform/queues.ts';
import { requestDigestOf } from '../platform/secrets/request-digest.ts';
import { keyReused } from '../refunds/model/refusals.ts';
import type { BatchMode, RowContent } from './batch.ts';

/** A row of a request: a valid one, or what is wrong with it. */
export type RequestedRow = { content: RowContent } | { problem: string };

/** What a person was shown of a row: what is left of its payment, in minor units, or why it is not refunded. */
export type RowReview = { amount: number } | { refusal: string };
export type Reviews = ReadonlyMap<number, RowReview>;

interface BatchRequest {
  organizationId: string;
  environment: Environment;
  /** Who requests its refunds: `key:<id>` or `user:<id>`. */
  actor: string;
  mode: BatchMode;
  rows: readonly RequestedRow[];
  /** What a person was shown of rows, by their index; a repetition is the same batch, whatever it was shown. */
  reviews?: Reviews;
  /**
   * As the requester owns it.
   * @param ofRows for a batch that is given none: the same rows are one batch, however they are written, how often, where and by whom.
   */
  idempotencyKey(ofRows: string): string;
}

/** The most batches of a requester that are not completed, so that their rows stay few and no requester keeps out another. */
const maxUnfinished = 20;

/** The most rows of an organization's environment in a day: they are kept for long, whatever comes of them. */
const maxRowsPerDay = 100_000;

/** The invalid rows of a partial batch that are kept; the others are only counted. */
const invalidKept = 20;

/** The most rows and the most text that a refusal lists. */
const mostListed = { rows: 20, characters: 2_000 };

/**
 * Stores a batch, and wakes a worker, which works it off.
 * @returns the batch; as it is now when an earlier request with the same key created it.
 * @throws ServiceError validation_error that lists invalid rows of a strict batch; idempotency_key_reused; rate_limited while too many
 * batches are not completed, or after too many rows of a day.
 */
export async function createBatch(
  { db, queues }: { db: Database; queues: Pick<RefundQueues, 'wakeWorkers'> },
  request: BatchRequest,
): Promise<{ batch: RefundBatch; isReplayed: boolean }> {
  const { organizationId, environment, actor, mode, rows } = request;
  if (mode === 'strict' || rows.every((row) => 'problem' in row)) refuseInvalid(rows);
  const { fingerprint, idempotencyKey } = await identify(request);
  const items = rows.map((row, index) => toItem(row, index, request.reviews?.get(index)));
  const rejectedCount = items.filter((item) => 'problem' in item).length;
  const waitingCount = rows.length - rejectedCount;
  const created = await db.$transaction(async (tx) => {
    const now = await serviceTime(tx);
    const batch: RefundBatch = {
      ...{ id: newId('bat'), organizationId, environment, actor, mode, pauseReason: null },
      ...{ idempotencyKey, fingerprint, rowCount: rows.length, waitingCount, rejectedCount },
      ...{ status: 'processing', dueAt: now, createdAt: now, updatedAt: now, completedAt: null },
      seenAt: null,
    };
    // Waits for a request with the same key that is under way.
    const { count } = await tx.refundBatch.createMany({ data: [batch], skipDuplicates: true });
    if (count === 0) return { batch: await earlierBatch(tx, batch), isReplayed: true };
    await refuseTooMany(tx, request);
    await refuseTooManyRows(tx, batch);
    await insertRows(tx, batch.id, items);
    const detail = { environment, mode, rows: rows.length };
    await writeAudit(
      tx,
      { organizationId, actor, action: 'refund_batch.created', target: batch.id, detail },
      now,
    );
    return { batch, isReplayed: false };
  });
  queues.wakeWorkers();
  return created;
}

/** What makes requests the same. */
type Identified = Pick<BatchRequest, 'organizationId' | 'environment' | 'rows' | 'idempotencyKey'>;

/** The batch that these rows were sent as before; null for none. */
export async function findRepeated(
  { db }: { db: Database },
  request: Identified,
): Promise<RefundBatch | null> {
  const { organizationId, environment } = request;
  const { idempotencyKey } = await identify(request);
  return await db.refundBatch.findFirst({ where: { organizationId, environment, idempotencyKey } });
}

async function identify(request: Identified) {
  // What is valid is the same in either mode.
  const fingerprint = await inPieces(fingerprinting(request.rows));
  const ofRows = `rows\n${Buffer.from(fingerprint).toString('base64url')}`;
  return { fingerprint, idempotencyKey: requestDigestOf(request, request.idempotencyKey(ofRows)) };
}

/** What `fingerprintOf` gives for all rows. */
function* fingerprinting(rows: readonly RequestedRow[]): Pieces<Uint8Array<ArrayBuffer>> {
  const hash = createHash('sha256').update('POST /v1/refund-batches\n{"rows":[');
  for (const [index, row] of rows.entries()) {
    if (index % rowsOfPiece === 0) yield;
    hash.update(`${index === 0 ? '' : ','}${canonicalJson(row)}`);
  }
  return Uint8Array.from(hash.update(']}').digest());
}

/** Of the largest rows they take a few milliseconds. */
const rowsOfPiece = 20;

function refuseInvalid(rows: readonly RequestedRow[]): void {
  const problems = rows.flatMap((row, index) =>
    'problem' in row ? [`Row ${index + 1}: ${row.problem}`] : [],
  );
  if (problems.length === 0) return;
  const listed: string[] = [];
  let characters = 0;
  for (const problem of problems.slice(0, mostListed.rows)) {
    characters += problem.length;
    if (characters > mostListed.characters && listed.length > 0) break;
    listed.push(problem);
  }
  const more = problems.length - listed.length;
  const rest = more === 0 ? '' : ` | and ${more} more rows`;
  throw new ServiceError('validation_error', `No refund was created. ${listed.join(' | ')}${rest}`);
}

/** The batch of an earlier request with the same key. @throws ServiceError idempotency_key_reused for another request. */
async function earlierBatch(
  tx: DatabaseTransaction,
  { organizationId, environment, idempotencyKey, fingerprint }: RefundBatch,
): Promise<RefundBatch> {
  const found = await tx.refundBatch.findFirstOrThrow({
    where: { organizationId, environment, idempotencyKey },
  });
  if (Buffer.compare(found.fingerprint, fingerprint) !== 0) throw keyReused();
  return found;
}

async function refuseTooMany(
  tx: DatabaseTransaction,
  { organizationId, environment, actor }: BatchRequest,
): Promise<void> {
  const unfinished = { organizationId, environment, actor, completedAt: null };
  const count = await tx.refundBatch.count({ where: unfinished, take: maxUnfinished + 1 });
  if (count <= maxUnfinished) return;
  throw new ServiceError(
    'rate_limited',
    `At most ${maxUnfinished} batches of a requester can be open at a time. Wait until one is completed, then send this one again.`,
    { retryAfterSeconds: 60 },
  );
}

/** @param batch the new one, which is stored already. */
async function refuseTooManyRows(tx: DatabaseTransaction, batch: RefundBatch): Promise<void> {
  const { organizationId, environment, createdAt } = batch;
  const since = new Date(createdAt.getTime() - dayMs);
  const { _sum } = await tx.refundBatch.aggregate({
    where: { organizationId, environment, createdAt: { gt: since } },
    _sum: { rowCount: true },
  });
  if ((_sum.rowCount ?? 0) <= maxRowsPerDay) return;
  throw new ServiceError(
    'rate_limited',
    `The batches of an organization can have at most ${maxRowsPerDay} rows in 24 hours. Wait, then send this one again.`,
    { retryAfterSeconds: 3_600 },
  );
}

const dayMs = 24 * 60 * 60 * 1000;

/** Rows of one statement. */
const rowsInserted = 500;

async function insertRows(
  tx: DatabaseTransaction,
  batchId: string,
  items: readonly ReturnType<typeof toItem>[],
): Promise<void> {
  const dropped = new Set(items.filter((item) => 'problem' in item).slice(invalidKept));
  const kept = items.filter((item) => !dropped.has(item));
  for (let start = 0; start < kept.length; start += rowsInserted) {
    const page = kept.slice(start, start + rowsInserted);
    await tx.$executeRaw`
      INSERT INTO refund_batch_row (batch_id, number, state, transaction_id, content, error_code, error_message)
      SELECT ${batchId}, n, CASE WHEN problem IS NULL THEN 'waiting' ELSE 'rejected' END, "transactionId", content,
        CASE WHEN problem IS NOT NULL THEN 'validation_error' END, problem
      FROM jsonb_to_recordset(${JSON.stringify(page)}::jsonb) AS item(n int, "transactionId" text, content jsonb, problem text)`;
  }
}

function toItem(row: RequestedRow, index: number, review?: RowReview) {
  const n = index + 1;
  if ('problem' in row) return { n, problem: redact(row.problem) };
  const { content } = row;
  const { transactionId } = content;
  if (review === undefined) return { n, transactionId, content };
  return 'refusal' in review
    ? { n, transactionId, problem: redact(review.refusal) }
    : { n, transactionId, content: { ...content, amount: review.amount } };
}
