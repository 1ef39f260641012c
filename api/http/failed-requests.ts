import type { FastifyInstance, FastifyRequest } from 'fastify';
import pLimit from 'p-limit';
import { storeFailedRequest } from '#shared/organizations/failed-requests.ts';
import type { FailedRequest } from '#shared/platform/database.ts';
import type { ServiceError } from '#shared/platform/errors.ts';
import { redact, redactJson, warnSparingly } from '#shared/platform/log.ts';
import { Bound, isSmallBody } from './admission.ts';
import { pathOf } from './request-records.ts';

/** The most requests that wait to be stored. Further ones are not stored: a flood of refusals must not take memory. */
const maxWaiting = 100;

/**
 * Stores the requests of this instance that were answered with an error and had a valid API key, one after another, after their
 * answers. What cannot be stored is lost. Register it before the key is checked.
 */
export function keepFailedRequests(app: FastifyInstance): void {
  const { db, clock, log } = app.deps;
  const inTurn = pLimit(1);
  const waiting = new Bound(maxWaiting);
  const warn = warnSparingly(log, 'a failed request was not recorded');
  app.addHook('onResponse', (request, reply, done) => {
    done();
    const { refusal, apiKey } = request;
    if (refusal === null || apiKey === undefined || refusal.code === 'invalid_api_key') return;
    const { organizationId } = apiKey;
    if (!waiting.admits(organizationId)) return;
    waiting.enter(organizationId);
    const createdAt = clock.now();
    const status = reply.statusCode;
    inTurn(() => storeFailedRequest(db, { ...recordOf(request, refusal), status, createdAt }))
      .catch(warn)
      .finally(() => waiting.leave(organizationId));
  });
}

function recordOf(
  request: FastifyRequest,
  { code, message }: ServiceError,
): Omit<FailedRequest, 'status' | 'createdAt'> {
  const { id, apiKey, method, routeOptions, url, body, created, raw } = request;
  const { organizationId, environment } = apiKey;
  return {
    ...{ id, organizationId, environment, apiKeyId: apiKey.id },
    operation: `${method} ${routeOptions.url}`,
    path: redact(pathOf(url)),
    code,
    message: redact(message),
    // What is larger would take long to redact.
    body: body === undefined || body === null || !isSmallBody(raw) ? null : redactJson(body),
    refundId: created?.id ?? null,
  };
}
