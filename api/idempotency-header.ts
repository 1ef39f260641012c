import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Dependencies } from '../shared/dependencies.ts';
import { ServiceError } from '../shared/errors.ts';
import type { WithinCreation } from '../shared/refunds/request-refund.ts';
import { callerOf } from './authenticate.ts';
import { type Answer, fingerprintOf, runOnce } from './idempotency.ts';

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
  const [path] = request.url.split('?');
  // No body and an empty object are the same request.
  const fingerprint = fingerprintOf(`${request.method} ${path}`, request.body ?? {});
  const answer = await runOnce(deps, { organizationId, environment, key, fingerprint }, run);
  if (answer.replayed) reply.header('idempotent-replayed', 'true');
  return answer;
}

function readKey(request: FastifyRequest): string | null {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return null;
  if (typeof header === 'string' && /^[\x21-\x7e]{1,255}$/.test(header)) return header;
  throw new ServiceError('validation_error', 'Idempotency-Key: use 1 to 255 visible ASCII characters.');
}
