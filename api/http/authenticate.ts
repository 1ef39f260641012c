import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Dependencies } from '../../shared/dependencies.ts';
import { findApiKey, noteApiKeyUse } from '../../shared/organizations/api-keys.ts';
import type { ApiKey } from '../../shared/platform/database.ts';
import { ServiceError } from '../../shared/platform/errors.ts';

const callers = new WeakMap<FastifyRequest, ApiKey>();

/** Lets only requests with a valid key into the routes that are registered on this instance from here on. */
export function requireApiKey(app: FastifyInstance, deps: Dependencies): void {
  app.addHook('onRequest', async (request) => {
    const presented = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    const key = presented === undefined ? null : await findApiKey(deps.apiKeys, presented);
    if (key === null) {
      throw new ServiceError(
        'invalid_api_key',
        'Send a valid API key as "Authorization: Bearer svc_test_..." or "svc_live_...".',
      );
    }
    callers.set(request, key);
    noteApiKeyUse(deps.db, key, deps.clock.now()).catch((error: unknown) => {
      request.log.debug({ err: error }, 'the use of a key could not be noted');
    });
  });
}

/** The key behind a request on an authenticated route: whose it is and in which environment. */
export function callerOf(request: FastifyRequest): ApiKey {
  const key = callers.get(request);
  if (key === undefined) throw new TypeError('This route is registered outside of requireApiKey');
  return key;
}
