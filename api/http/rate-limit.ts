import rateLimit, { type FastifyRateLimitStore } from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Dependencies } from '#shared/dependencies.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { failFast, openRedis } from '#shared/platform/redis.ts';

interface RateLimit {
  /** Requests per subject in a window. */
  max: number;
  /** The length of a window, in milliseconds. */
  windowMs: number;
  /** The message of a refusal. */
  message: string;
  /** Whether responses state the limit and what is left of it. */
  hasHeaders?: boolean;
  /** The id of the subject whose requests are counted together. */
  subjectOf: (request: FastifyRequest) => string;
}

/**
 * Limits the requests of the routes registered on this instance from here on, counted together.
 * @param Counts where they are counted; in this process alone by default.
 */
export async function limitRequests(
  app: FastifyInstance,
  { max, windowMs, message, hasHeaders = true, subjectOf }: RateLimit,
  Counts: new () => FastifyRateLimitStore = CountsInProcess,
): Promise<void> {
  await app.register(rateLimit, {
    max,
    timeWindow: windowMs,
    skipOnError: true,
    enableDraftSpec: true,
    ...(hasHeaders ? {} : { addHeaders: noHeaders, addHeadersOnExceeding: noHeaders }),
    keyGenerator: subjectOf,
    errorResponseBuilder: () =>
      new ServiceError('rate_limited', message, { retryAfterSeconds: windowMs / 1_000 }),
    store: Counts,
  });
}

/**
 * Limits requests per second, unless the settings turn all such limits off or `max` is 0. With Redis all API processes share one count.
 * While Redis is unavailable nothing is limited, because a limit is no reason to refuse refunds.
 */
export async function limitRate(
  app: FastifyInstance,
  { log, settings }: Dependencies,
  { messagePrefix = 'Too many requests', ...limit }: RatePerSecond,
): Promise<void> {
  const { RATE_LIMIT_PER_SECOND, REDIS_URL, QUEUE_PREFIX } = settings;
  if (RATE_LIMIT_PER_SECOND === 0 || limit.max === 0) return;
  const redis = REDIS_URL === null ? null : openRedis(settings, { ...failFast, commandTimeout: 200 });
  redis?.on('error', (error) => log.debug({ err: error }, 'rate limit: redis connection error'));
  app.addHook('onClose', async () => redis?.disconnect());
  const message = `${messagePrefix}: the limit is ${limit.max} per second. Wait as long as Retry-After says, then retry.`;
  const Counts = redis === null ? CountsInProcess : countsIn(redis, `{${QUEUE_PREFIX}-rate}`);
  await limitRequests(app, { ...limit, windowMs: 1_000, message }, Counts);
}

type RatePerSecond = Pick<RateLimit, 'max' | 'hasHeaders' | 'subjectOf'> & {
  /** The message of a refusal begins with it. */
  messagePrefix?: string;
};

/**
 * Counts requests of one process. The package's own store hands out one object per subject, which later requests change before an earlier
 * one reads its count: more requests at one moment than the limit were all refused.
 */
class CountsInProcess implements FastifyRateLimitStore {
  /** By subject, in the order in which their windows began. */
  readonly #windows = new Map<string, { since: number; count: number }>();

  incr(subject: string, onCounted: Parameters<FastifyRateLimitStore['incr']>[1], windowMs: number): void {
    const now = Date.now();
    for (const [each, { since }] of this.#windows) {
      // The system's clock may be set back.
      if (Math.abs(now - since) < windowMs) break;
      this.#windows.delete(each);
    }
    const window = this.#windows.get(subject) ?? { since: now, count: 0 };
    this.#windows.set(subject, window);
    window.count += 1;
    onCounted(null, { current: window.count, ttl: window.since + windowMs - now });
  }

  child(): FastifyRateLimitStore {
    return this;
  }
}

/**
 * Counts requests in Redis. Each count ends with its window, whoever wrote it: the package's own store keeps a count that has no end,
 * and refuses its subject for ever.
 */
function countsIn(redis: ReturnType<typeof openRedis>, prefix: string) {
  return class CountsInRedis implements FastifyRateLimitStore {
    incr(subject: string, onCounted: Parameters<FastifyRateLimitStore['incr']>[1], windowMs: number): void {
      redis.eval(countScript, 1, `${prefix}${subject}`, windowMs).then(
        (counted) => {
          const [current = 0, ttl = 0] = counted as number[];
          onCounted(null, { current, ttl });
        },
        (error: Error) => onCounted(error),
      );
    }

    child(): FastifyRateLimitStore {
      return this;
    }
  };
}

const countScript = `local current = redis.call('INCR', KEYS[1])
local ttl = redis.call('PTTL', KEYS[1])
if ttl < 0 or ttl > tonumber(ARGV[1]) then
  ttl = tonumber(ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ttl)
end
return {current, ttl}`;

const noHeaders = {
  'ratelimit-limit': false,
  'ratelimit-remaining': false,
  'ratelimit-reset': false,
  'retry-after': false,
};

/**
 * Limits the requests of each API key, and those of all keys of an organization, which can make any number of keys. Requests
 * that the key's limit refuses do not count for the organization, so that one key cannot use up the limit of the others.
 */
export async function limitKeys(app: FastifyInstance): Promise<void> {
  const { RATE_LIMIT_PER_SECOND, ORGANIZATION_RATE_LIMIT_PER_SECOND } = app.deps.settings;
  await limitRate(app, app.deps, { max: RATE_LIMIT_PER_SECOND, subjectOf: (request) => request.apiKey.id });
  await limitRate(app, app.deps, {
    max: ORGANIZATION_RATE_LIMIT_PER_SECOND,
    messagePrefix: 'Too many requests of your organization',
    // Those of the key's own limit are in the response.
    hasHeaders: false,
    subjectOf: (request) => request.apiKey.organizationId,
  });
}
