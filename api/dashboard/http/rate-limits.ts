import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { networkOf } from '#shared/platform/network.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import { limitRate, limitRequests } from '../../http/rate-limit.ts';
import type { Api } from '../../http/route.ts';
import { visitorOf } from './access.ts';

const attemptsPerMinute = 60;
const attemptsOnAllInvitations = 2 * attemptsPerMinute;

/**
 * Limits the routes registered by `register`, which take a new password, an invitation or the set-up code, before the
 * form is read; the lockouts apply in addition. Counts per user, or per network before sign-in: 60 a minute for
 * each invitation, and 120 for all of them.
 */
export async function limitAttempts(scope: Api, register: (limited: Api) => void): Promise<void> {
  await scope.register(async (limited: Api) => {
    const perMinute = { windowMs: 60_000, message: 'Too many attempts. Try again in a minute.' };
    const subjectOf = (request: FastifyRequest) => `${senderOf(request)} ${targetOf(request)}`;
    await limitRequests(limited, { ...perMinute, max: attemptsPerMinute, subjectOf });
    await limitRequests(limited, { ...perMinute, max: attemptsOnAllInvitations, subjectOf: senderOf });
    register(limited);
  });
}

function senderOf({ visitor, ip }: FastifyRequest): string {
  return visitor?.user.id ?? networkOf(ip);
}

/** A digest of the decoded parameters, because the raw path has many spellings, and because a token is a secret. */
function targetOf({ params }: FastifyRequest): string {
  return createHash('sha256').update(JSON.stringify(params)).digest('base64url');
}

/** A dozen windows with all their automatic updates need less. */
const requestsPerUserAndSecond = 30;

/** Limits the requests of each signed-in user, so that one user's script cannot occupy the dashboard. */
export async function limitUsers(scope: Api, deps: ApiDependencies): Promise<void> {
  await limitRate(scope, deps, {
    max: requestsPerUserAndSecond,
    subjectOf: (request) => visitorOf(request).user.id,
  });
}
