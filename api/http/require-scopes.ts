import type { ApiKeyScope } from '../../shared/organizations/api-keys.ts';
import type { ApiKey } from '../../shared/platform/database.ts';
import { ServiceError } from '../../shared/platform/errors.ts';

/** @throws ServiceError insufficient_scope for a key that is stopped or lacks one of the scopes. */
export function requireScopes(
  { stoppedAt, scopes }: Pick<ApiKey, 'stoppedAt' | 'scopes'>,
  required: readonly ApiKeyScope[],
): void {
  if (stoppedAt !== null) {
    throw new ServiceError(
      'insufficient_scope',
      'This API key is stopped. An admin of the organization can resume it.',
    );
  }
  const missing = required.filter((scope) => !scopes.includes(scope));
  if (missing.length === 0) return;
  throw new ServiceError(
    'insufficient_scope',
    `This requires the scope ${missing.join(' and ')}, which this API key does not have. Use another key.`,
  );
}
