import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { ServiceError } from '../../shared/platform/errors.ts';

/**
 * Refuses a key without the scopes that a route names in its schema: `security: [{ apiKey: ['refunds:read'] }]`.
 * @throws ServiceError insufficient_scope
 */
export const checkScopes = fp(
  async (app) => {
    app.addHook('onRequest', async (request) => {
      const { stoppedAt, scopes } = request.apiKey;
      if (stoppedAt !== null) {
        throw new ServiceError(
          'insufficient_scope',
          'This API key is stopped. An admin of the organization can resume it.',
        );
      }
      const missing = scopesOf(request).filter((scope) => !scopes.includes(scope));
      if (missing.length === 0) return;
      throw new ServiceError(
        'insufficient_scope',
        `This requires the scope ${missing.join(' and ')}, which this API key does not have. Use another key.`,
      );
    });
  },
  { name: 'check-scopes', dependencies: ['authenticate', 'limit-keys'] },
);

function scopesOf(request: FastifyRequest): readonly string[] {
  const [requirement] = request.routeOptions.schema?.security ?? [];
  return requirement?.apiKey ?? [];
}
