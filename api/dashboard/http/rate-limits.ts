import rateLimit from '@fastify/rate-limit';
import { ServiceError } from '../../../shared/platform/errors.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import { limitRate } from '../../http/rate-limit.ts';
import type { Api } from '../../http/route.ts';
import { visitorOf } from './access.ts';

const attemptsPerMinute = 60;

/**
 * Limits the routes registered by `register`, which take a new password, an invitation or the set-up code; the lockouts apply in addition. Counts per
 * user, and before sign-in per address and path, so that an invitation is not closed by forms for others.
 */
export async function limitAttempts(scope: Api, register: (limited: Api) => void): Promise<void> {
  await scope.register(async (limited: Api) => {
    await limited.register(rateLimit, {
      max: attemptsPerMinute,
      timeWindow: 60_000,
      keyGenerator: ({ visitor, ip, url }) => `${visitor?.user.id ?? ip} ${url.split('?', 1)[0]}`,
      errorResponseBuilder: () =>
        new ServiceError('rate_limited', 'Too many attempts. Try again in a minute.', {
          retryAfterSeconds: 60,
        }),
    });
    register(limited);
  });
}

/** More than a dozen windows need with all their automatic updates. */
const requestsPerUserAndSecond = 30;

/** Limits the requests of each signed-in user, so that one user's script cannot occupy the dashboard. */
export async function limitUsers(scope: Api, deps: ApiDependencies): Promise<void> {
  await limitRate(scope, deps, {
    max: requestsPerUserAndSecond,
    subjectOf: (request) => visitorOf(request).user.id,
  });
}
