import type { FastifyRequest, RouteOptions } from 'fastify';
import fp from 'fastify-plugin';
import type { ApiKey } from '../../shared/platform/database.ts';
import { ServiceError } from '../../shared/platform/errors.ts';

/**
 * Refuses a stopped key, and a key without the scopes that a route names in its schema:
 * `security: [{ apiKey: ['refunds:read'] }]`. A route that names none cannot be registered.
 * @throws ServiceError insufficient_scope
 */
export const checkScopes = fp(
  async (app) => {
    app.addHook('onRoute', (route) => {
      const required = scopesOf(route);
      const check = async ({ apiKey }: FastifyRequest) => requireScopes(apiKey, required);
      // A hook of the route runs after the rate limit, which is one as well.
      route.onRequest = [route.onRequest ?? [], check].flat();
    });
  },
  { name: 'check-scopes', dependencies: ['authenticate', 'limit-keys'] },
);

/** @throws ServiceError insufficient_scope for a key that is stopped or lacks one of the scopes. */
export function requireScopes(
  { stoppedAt, scopes }: Pick<ApiKey, 'stoppedAt' | 'scopes'>,
  required: readonly string[],
): void {
  if (stoppedAt !== null) {
    throw new ServiceError(
      'insufficient_scope',
      'This API key is stopped. An operator can resume it on the command line; an agent key can also be resumed through the API.',
    );
  }
  const missing = required.filter((scope) => !scopes.includes(scope));
  if (missing.length === 0) return;
  throw new ServiceError(
    'insufficient_scope',
    `This requires the scope ${missing.join(' and ')}, which this API key does not have. Use another key.`,
  );
}

function scopesOf({ method, url, schema }: RouteOptions): readonly string[] {
  const scopes = schema?.security?.[0]?.apiKey;
  if (scopes !== undefined) return scopes;
  throw new Error(`${method} ${url} does not name the scopes that it requires`);
}
