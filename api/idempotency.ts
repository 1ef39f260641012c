import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { canonicalJson } from '../shared/canonical-json.ts';
import type { IdempotencyKey } from '../shared/db.ts';
import type { Dependencies } from '../shared/dependencies.ts';
import type { Environment } from '../shared/environment.ts';
import { ServiceError } from '../shared/errors.ts';
import { answerKeptMs } from '../shared/idempotency.ts';
import { toPublicRefund } from '../shared/refunds/refund.ts';
import type { WithinCreation } from '../shared/refunds/request-refund.ts';
import { errorBody, toServiceError } from './error-handler.ts';

/** An answer as it is stored and sent. */
export interface Answer {
  status: number;
  body: unknown;
}

/** What a request takes at the most besides waiting for a verdict. */
const workMs = 30_000;

/** How long an answer waits to be stored before it is sent. */
const storeWaitMs = 2_000;

/** Answers that bind nothing: the request was not carried out, so the same key may be used for a better one. */
const unbindingStatuses = new Set([400, 401, 413, 415, 429, 500, 503]);

interface KeyName {
  organizationId: string;
  environment: Environment;
  key: string;
}

/** The key as one running request holds it; the lock's time is its fencing token. */
interface HeldKey extends KeyName {
  lockedUntil: Date;
}

/** A request that is to be carried out once, whoever repeats it: its key, and what it asks for. */
export interface KeyedRequest extends KeyName {
  /** Of what is asked for, by `fingerprintOf`: the same key with another one is refused. */
  fingerprint: Uint8Array<ArrayBuffer>;
}

/** A digest of what a request asks for; the same for the same request, however it was written. */
export function fingerprintOf(operation: string, asked: unknown): Uint8Array<ArrayBuffer> {
  const text = `${operation}\n${canonicalJson(asked)}`;
  return Uint8Array.from(createHash('sha256').update(text).digest());
}

/**
 * Runs a request at most once per key and answers repetitions from the record. `run` gets a function that binds the key
 * to the refund in the database transaction that creates it.
 * @returns the answer, and whether it is that of an earlier run.
 * @throws ServiceError idempotency_in_progress while another run holds the key, idempotency_key_reused for a key that
 * stands for another request; and whatever `run` throws, which is the answer of its repetitions as well.
 */
export async function runOnce(
  deps: Dependencies,
  { fingerprint, ...name }: KeyedRequest,
  run: (bind: WithinCreation) => Promise<Answer>,
): Promise<Answer & { replayed: boolean }> {
  const begun = await begin(deps, name, fingerprint);
  if ('status' in begun) return { ...begun, replayed: true };
  const { fault, ...answer } = await settle(run((tx, refundId) => bind(tx, begun, refundId)));
  // A database that hangs must not hold up an answer that is there; it is stored later, or not at all.
  await Promise.race([finish(deps, begun, answer), sleep(storeWaitMs, null, { ref: false })]);
  if (fault !== null) throw fault;
  return { ...answer, replayed: false };
}

/** Takes the key, or gives the answer to repeat. */
async function begin(
  deps: Dependencies,
  name: KeyName,
  fingerprint: Uint8Array<ArrayBuffer>,
): Promise<HeldKey | Answer> {
  for (;;) {
    const now = deps.clock.now();
    // Longer than any request runs; after that its process is dead and another request may take the key over.
    const lockedUntil = new Date(now.getTime() + deps.settings.MAX_WAIT_MS + workMs);
    const { count } = await deps.db.idempotencyKey.createMany({
      data: [{ ...name, fingerprint, lockedUntil, createdAt: now }],
      skipDuplicates: true,
    });
    if (count === 1) return { ...name, lockedUntil };
    const known = await deps.db.idempotencyKey.findFirst({ where: name });
    if (known === null) continue;
    const replay = await repeat(deps, known, fingerprint);
    if (replay !== null) return replay;
    const { lockedUntil: lastLock, answeredAt } = known;
    const taken = await deps.db.idempotencyKey.updateMany({
      where: { ...name, lockedUntil: lastLock, answeredAt, refundId: null },
      data: { lockedUntil, statusCode: null, body: null, answeredAt: null },
    });
    if (taken.count === 1) return { ...name, lockedUntil };
  }
}

/** The answer for a key that is known; null when it may be taken over: it made no refund and has no answer any more. */
async function repeat(
  deps: Dependencies,
  known: IdempotencyKey,
  fingerprint: Uint8Array,
): Promise<Answer | null> {
  if (Buffer.compare(known.fingerprint, fingerprint) !== 0) {
    throw new ServiceError(
      'idempotency_key_reused',
      'This Idempotency-Key was used with another request; use a new key for a new request.',
    );
  }
  const now = deps.clock.now();
  if (known.statusCode !== null && known.body !== null) {
    const age = now.getTime() - (known.answeredAt ?? now).getTime();
    if (age < answerKeptMs) return { status: known.statusCode, body: JSON.parse(known.body) };
  }
  if (known.lockedUntil !== null && known.lockedUntil > now) {
    throw new ServiceError('idempotency_in_progress', 'The first request with this key is still running.', {
      retryAfterSeconds: 1,
    });
  }
  if (known.refundId === null) return null;
  const refund = await deps.db.refund.findUniqueOrThrow({ where: { id: known.refundId } });
  return { status: 200, body: { data: toPublicRefund(refund) } };
}

/** Ties the key to the refund; a request that lost its key meanwhile must not create one. */
async function bind(tx: Parameters<WithinCreation>[0], held: HeldKey, refundId: string): Promise<void> {
  const { count } = await tx.idempotencyKey.updateMany({
    where: { ...held, refundId: null },
    data: { refundId },
  });
  if (count === 1) return;
  throw new ServiceError('idempotency_in_progress', 'Another request with this key has taken over.', {
    retryAfterSeconds: 1,
  });
}

/** An expected refusal is an answer to keep; a fault is one too, and is thrown on once the key is settled. */
async function settle(running: Promise<Answer>): Promise<Answer & { fault: unknown }> {
  try {
    return { ...(await running), fault: null };
  } catch (error) {
    const refusal = toServiceError(error);
    return { status: refusal.status, body: errorBody(refusal), fault: error };
  }
}

async function finish(deps: Dependencies, held: HeldKey, answer: Answer): Promise<void> {
  const { organizationId, environment, key } = held;
  const where = { organizationId, environment, key, lockedUntil: held.lockedUntil };
  try {
    if (!unbindingStatuses.has(answer.status)) {
      const { status: statusCode } = answer;
      const data = {
        statusCode,
        body: JSON.stringify(answer.body),
        answeredAt: deps.clock.now(),
        lockedUntil: null,
      };
      await deps.db.idempotencyKey.updateMany({ where, data });
      return;
    }
    const { refundId } = await deps.db.idempotencyKey.findFirstOrThrow({ where });
    const refund = refundId === null ? null : await deps.db.refund.findUnique({ where: { id: refundId } });
    // A key whose refund lives stays with it, whatever this request was answered.
    const isFree = refund === null || refund.status === 'failed';
    // A commit that was cut off may bind the key in this very moment; what it has bound is not forgotten.
    if (isFree && (await deps.db.idempotencyKey.deleteMany({ where: { ...where, refundId } })).count > 0)
      return;
    await deps.db.idempotencyKey.updateMany({ where, data: { lockedUntil: null } });
  } catch (error) {
    // The refund is on record and bound; repetitions are answered with it once the lock has run out.
    deps.log.warn({ err: error }, 'the answer to an idempotent request could not be stored');
  }
}
