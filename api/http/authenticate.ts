import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { noteApiKeyUse } from '../../shared/organizations/find-api-key.ts';
import { networkOf } from '../../shared/people/sign-in/network.ts';
import type { ApiKey } from '../../shared/platform/database.ts';
import { ServiceError } from '../../shared/platform/errors.ts';
import { limitFailedKeys } from './failed-keys.ts';
import { OverloadError } from './overload.ts';
import { Room } from './room.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The key behind the request; set only on routes registered after `authenticate`. */
    apiKey: ApiKey;
  }
}

/** The most keys that are looked up at a time: only while the database hangs are there as many. Clients and others look alike here. */
const maxLookups = 1_000;

/** Requires a valid API key on every route of this instance. */
export const authenticate = fp(
  async (app) => {
    const { clock, db } = app.deps;
    const findKey = await limitFailedKeys(app);
    const lookups = new Room(maxLookups);
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
    app.addHook('onRequest', async (request) => {
      const presented = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
      const key = presented === undefined ? null : await lookUp(request, presented);
      if (key === null) {
        throw new ServiceError(
          'invalid_api_key',
          'Send a valid API key as "Authorization: Bearer svc_test_..." or "svc_live_...".',
        );
      }
      request.apiKey = key;
      noteApiKeyUse(db, key, clock.now()).catch((error: unknown) => {
        request.log.debug({ err: error }, 'the last use of a key was not recorded');
      });
    });
  },
  { name: 'authenticate', decorators: { fastify: ['deps'] } },
);
