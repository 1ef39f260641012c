import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Dependencies } from '../../shared/dependencies.ts';
import { ServiceError } from '../../shared/platform/errors.ts';
import { failFast, openRedis } from '../../shared/platform/queues.ts';

export interface RateLimit {
  /** Requests per subject and second. */
  max: number;
  /** Whose requests are counted together; its id. */
  subjectOf: (request: FastifyRequest) => string;
}

/**
 * Limits the requests of the routes that are registered on this instance from here on, unless the settings switch all limits
 * off. With Redis all API processes share one count; a Redis that is gone or frozen lets everything through after a
 * moment, because a limit is no reason to refuse refunds.
 */
export async function limitRate(
  app: FastifyInstance,
  deps: Dependencies,
  { max, subjectOf }: RateLimit,
): Promise<void> {
  const { RATE_LIMIT_PER_SECOND, REDIS_URL, QUEUE_PREFIX } = deps.settings;
  if (RATE_LIMIT_PER_SECOND === 0) return;
  const redis = REDIS_URL === null ? null : openRedis(REDIS_URL, { ...failFast, commandTimeout: 200 });
  redis?.on('error', (error) => deps.log.debug({ err: error }, 'rate limit: redis connection error'));
  app.addHook('onClose', async () => redis?.disconnect());
  await app.register(rateLimit, {
    max,
    timeWindow: 1_000,
    skipOnError: true,
    enableDraftSpec: true,
    nameSpace: `{${QUEUE_PREFIX}-rate}`,
    keyGenerator: subjectOf,
    errorResponseBuilder: (_request, { max: limit }) =>
      new ServiceError('rate_limited', `More than ${limit} requests in a second; repeat after Retry-After.`, {
        retryAfterSeconds: 1,
      }),
    ...(redis === null ? {} : { redis }),
  });
}
