import type { FastifyInstance } from 'fastify';
import { apiVersions } from '#shared/platform/api-versions.ts';
import { ServiceError } from '#shared/platform/errors.ts';

const header = 'refund-version';

/**
 * Echoes the version of the API in which a request is answered: that of the header `Refund-Version`, or else that of the API key.
 * There is one so far, so nothing depends on it. Call it after `authenticate`.
 */
export function apiVersion(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ headers, apiKey }, reply) => {
    const version = headers[header] ?? apiKey.apiVersion;
    if (!apiVersions.some((one) => one === version)) {
      const known = apiVersions.join(', ');
      throw new ServiceError('validation_error', `Refund-Version: must be one of: ${known}.`);
    }
    reply.header(header, version);
  });
}
