import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  findApiKey,
  hashApiKey,
  keyPattern,
  noteApiKeyUse,
  readValidHashes,
} from '#shared/organizations/find-api-key.ts';
import type { ApiKey } from '#shared/platform/database.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { networkOf } from '#shared/platform/network.ts';
import { Bound } from './admission.ts';
import type { ApiDependencies } from './dependencies.ts';
import { OverloadError } from './overload.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The key behind the request; set only on routes registered after `authenticate`. */
    apiKey: ApiKey;
    /** When it was read, in milliseconds since 1970. */
    keyReadAtMs: number;
    /**
     * Reads the key again if it was read a while ago: it may have changed since.
     * @returns whether it was read again. What else was checked of the key then has to be checked again.
     * @throws ServiceError invalid_api_key for a key that was revoked or has expired since.
     */
    rereadKey(): Promise<boolean>;
  }
}

/** The most keys that are looked up at a time. Only while the database hangs do as many gather; clients and attackers look alike then. */
const maxLookups = 1_000;

/** A key that was read longer ago is read again by `rereadKey`. */
const keyReadForMs = 1_000;

/** Requires a valid API key on every route of this instance. */
export async function authenticate(app: FastifyInstance): Promise<void> {
  const { clock, db, apiKeys } = app.deps;
  const findKey = await limitFailedKeys(app);
  const lookups = new Bound(maxLookups);
  const lookUp = async (request: FastifyRequest, presented: string) => {
    const network = networkOf(request.ip);
    if (!lookups.admits(network)) throw new OverloadError('too many API keys are looked up');
    lookups.enter(network);
    try {
      return await findKey(request, presented);
    } finally {
      lookups.leave(network);
    }
  };
  app.decorateRequest('apiKey');
  app.decorateRequest('keyReadAtMs', 0);
  const setKey = (request: FastifyRequest, key: ApiKey | null): ApiKey => {
    if (key === null) throw invalidKey();
    request.apiKey = key;
    request.keyReadAtMs = clock.now().getTime();
    return key;
  };
  app.addHook('onRequest', async (request) => {
    const presented = presentedBy(request);
    const key = setKey(request, presented === null ? null : await lookUp(request, presented));
    noteApiKeyUse(db, key, clock.now()).catch((error: unknown) => {
      request.log.debug({ err: error }, 'the last use of a key was not recorded');
    });
  });
  app.decorateRequest('rereadKey', async function (this: FastifyRequest) {
    if (clock.now().getTime() - this.keyReadAtMs < keyReadForMs) return false;
    setKey(this, await findApiKey(apiKeys, presentedBy(this) ?? ''));
    return true;
  });
}

function presentedBy({ headers }: FastifyRequest): string | null {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? null;
}

function invalidKey(): ServiceError {
  return new ServiceError(
    'invalid_api_key',
    'Send a valid API key as "Authorization: Bearer svc_test_..." or "svc_live_...".',
  );
}

/** Finds the key that a request presents; null for an unknown, revoked or expired one. */
type FindKey = (request: FastifyRequest, presented: string) => Promise<ApiKey | null>;

/**
 * Looks keys up until an address has presented too many invalid ones. After that only valid keys of the address are looked
 * up: those of others behind the same NAT must not suffer. The keys that are valid are read for that every second at
 * most, so that guesses no longer cost a statement each.
 * @throws ServiceError rate_limited, from the function that it returns.
 */
async function limitFailedKeys(app: FastifyInstance): Promise<FindKey> {
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
    if (!keyPattern.test(presented)) return null;
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
