import type { ApiKeyScope } from '../../shared/organizations/api-keys.ts';
import type { ApiKey } from '../../shared/platform/database.ts';
import { ServiceError } from '../../shared/platform/errors.ts';
import type { Api } from './route.ts';

/** Requires a scope on every route of this instance. */
export function checkScope(app: Api, scope: ApiKeyScope): void {
  app.addHook('onRoute', (route) => {
    const check = async ({ apiKey }: { apiKey: ApiKey }) => requireScope(apiKey, scope);
    // A hook of the route runs after the rate limit, which is one as well.
    route.onRequest = [route.onRequest ?? [], check].flat();
  });
}

/** @throws ServiceError insufficient_scope for a key that is stopped or lacks the scope. */
export function requireScope(
  { stoppedAt, scopes }: Pick<ApiKey, 'stoppedAt' | 'scopes'>,
  required: ApiKeyScope,
): void {
  if (stoppedAt !== null) {
    throw new ServiceError(
      'insufficient_scope',
      'This API key is stopped. An operator can resume it on the command line; an agent key can also be resumed through the API.',
    );
  }
  if (scopes.includes(required)) return;
  throw new ServiceError(
    'insufficient_scope',
    `This requires the scope ${required}, which this API key does not have. Use another key.`,
  );
}
