import rateLimit from '@fastify/rate-limit';
import { ServiceError } from '../../../shared/platform/errors.ts';
import type { Api } from '../../http/route.ts';

/** Of each form that takes a password, a code or a link; lockouts come besides. */
const mostTriesPerMinute = 60;

/** The most that is read of a password that somebody shows; none is longer. */
export const longestTry = 400;

/** Bounds how often one address on the network may use the routes that are registered within. */
export async function limitTries(scope: Api, register: (limited: Api) => void): Promise<void> {
  await scope.register(async (limited: Api) => {
    await limited.register(rateLimit, {
      max: mostTriesPerMinute,
      timeWindow: 60_000,
      errorResponseBuilder: () =>
        new ServiceError('rate_limited', 'Too many tries from here. Wait a minute and repeat.', {
          retryAfterSeconds: 60,
        }),
    });
    register(limited);
  });
}
