import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { hashApiKey } from '../../shared/organizations/api-keys.ts';
import { findApiKey, hasKeyFormat, readValidHashes } from '../../shared/organizations/find-api-key.ts';
import { networkOf } from '../../shared/people/sign-in/network.ts';
import type { ApiKey } from '../../shared/platform/database.ts';
import { ServiceError } from '../../shared/platform/errors.ts';
import type { ApiDependencies } from './dependencies.ts';

/** Finds the key that a request presents; null for an unknown, revoked or expired one. */
type FindKey = (request: FastifyRequest, presented: string) => Promise<ApiKey | null>;

/**
 * Looks keys up until an address has presented too many invalid ones. After that only valid keys of the address are looked
 * up: those of others behind the same NAT must not suffer. The keys that are valid are read for that every second at
 * most, so that guesses no longer cost a statement each.
 * @throws ServiceError rate_limited, from the function that it returns.
 */
export async function limitFailedKeys(app: FastifyInstance): Promise<FindKey> {
  const { apiKeys, settings } = app.deps;
  if (settings.FAILED_KEYS_PER_MINUTE === 0) return (_request, presented) => findApiKey(apiKeys, presented);
  await app.register(rateLimit, {
    global: false,
    max: settings.FAILED_KEYS_PER_MINUTE,
    timeWindow: 60_000,
    keyGenerator: ({ ip }) => networkOf(ip),
  });
  const failures = app.createRateLimit();
  const isValid = validKeys(app.deps);
  return async (request, presented) => {
    if (!hasKeyFormat(presented)) return null;
    const counted = await failures(request, { increment: false });
    if (!counted.isAllowed && counted.isExceeded && !(await isValid(presented))) {
      throw tooManyFailures(counted.ttlInSeconds);
    }
    const key = await findApiKey(apiKeys, presented);
    if (key === null) await failures(request);
    return key;
  };
}

const rereadMs = 1_000;

/** Whether a key was valid at the last reading. */
function validKeys({ reads, clock }: ApiDependencies): (presented: string) => Promise<boolean> {
  let readAt = Number.NEGATIVE_INFINITY;
  let hashes: ReturnType<typeof readValidHashes> = Promise.resolve(new Set());
  return async (presented) => {
    const now = clock.now().getTime();
    if (now - readAt >= rereadMs) {
      readAt = now;
      hashes = readValidHashes(reads);
      hashes.catch(() => {
        readAt = Number.NEGATIVE_INFINITY;
      });
    }
    return (await hashes).has(Buffer.from(hashApiKey(presented)).toString('hex'));
  };
}

function tooManyFailures(retryAfterSeconds: number): ServiceError {
  return new ServiceError(
    'rate_limited',
    'Too many invalid API keys from your network. Send a valid key, or wait as long as Retry-After says, then retry.',
    { retryAfterSeconds },
  );
}
