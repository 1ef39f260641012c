import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { canonicalJson } from '../shared/canonical-json.ts';
import type { IdempotencyKey } from '../shared/db.ts';
import type { Dependencies } from '../shared/dependencies.ts';
import type { Environment } from '../shared/environment.ts';
import { ServiceError } from '../shared/errors.ts';
import { answerKeptMs } from '../shared/idempotency.ts';
import { toPublicRefund } from '../shared/refunds/refund.ts';
import type { WithinCreation } from '../shared/refunds/request-refund.ts';
import { callerOf } from './authenticate.ts';
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

/**
 * Runs a request at most once per Idempotency-Key and answers repetitions from the record; without the header it just
 * runs it. `run` gets a function that binds the key to the refund in the database transaction that creates it.
 */
export async function answerOnce(
  deps: Dependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  run: (bind: WithinCreation) => Promise<Answer>,
): Promise<Answer> {
  const key = readKey(request);
  if (key === null) return await run(async () => undefined);
  const { organizationId, environment } = callerOf(request);
  const begun = await begin(deps, { organizationId, environment, key }, fingerprintOf(request));
  if ('status' in begun) {
    reply.header('idempotent-replayed', 'true');
    return begun;
  }
  const answer = await settle(run((tx, refundId) => bind(tx, begun, refundId)));
  // A database that hangs must not hold up an answer that is there; it is stored later, or not at all.
  await Promise.race([finish(deps, begun, answer), sleep(storeWaitMs, null, { ref: false })]);
  if (answer.fault !== null) throw answer.fault;
  return answer;
}

function readKey(request: FastifyRequest): string | null {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return null;
  if (typeof header === 'string' && /^[\x21-\x7e]{1,255}$/.test(header)) return header;
  throw new ServiceError('validation_error', 'Idempotency-Key: use 1 to 255 visible ASCII characters.');
}

function fingerprintOf(request: FastifyRequest): Uint8Array<ArrayBuffer> {
  const [path] = request.url.split('?');
  // No body and an empty object are the same request.
  const text = `${request.method} ${path}\n${canonicalJson(request.body ?? {})}`;
  return Uint8Array.from(createHash('sha256').update(text).digest());
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
