import type { CreatedKey } from '#shared/organizations/created-keys.ts';
import type { CreatedEndpoint } from '#shared/webhooks/created-endpoints.ts';
import { hostOf } from '#shared/webhooks/endpoint.ts';
import { explain } from './output.ts';

/**
 * Lists API keys that were not revoked with their creator, each with the command that revokes it.
 * @param creator the subject of the sentence, such as 'the user'.
 */
export function explainRemainingKeys(creator: string, keys: readonly CreatedKey[]): void {
  if (keys.length === 0) return;
  explain(`Not revoked: ${countOf(keys)} that ${creator} created. Revoke those that no backend needs:`);
  for (const { id, organizationId, environment, lastFour, lastUsedAt } of keys) {
    const used = lastUsedAt === null ? 'never used' : `last used ${lastUsedAt.toISOString()}`;
    explain(`  key revoke ${id}   # svc_${environment}_...${lastFour} of ${organizationId}, ${used}`);
  }
}

/** Lists webhook endpoints that were disabled. */
export function explainDisabledEndpoints(endpoints: readonly CreatedEndpoint[]): void {
  for (const { id, url } of endpoints) explain(`Disabled: webhook endpoint ${id} at ${hostOf(url)}.`);
}

/** Lists webhook endpoints that were not disabled, each with the command that does it. */
export function explainRemainingEndpoints(endpoints: readonly CreatedEndpoint[]): void {
  for (const { id, organizationId, url, createdBy } of endpoints) {
    explain(
      `Still sent events: webhook endpoint ${id} at ${hostOf(url)}. To end it with all that its key created:`,
    );
    explain(`  key revoke ${createdBy.replace(/^key:/, '')} --with-created   # of ${organizationId}`);
  }
}

/** A number of API keys, in words. */
export function countOf(keys: readonly unknown[]): string {
  return `${keys.length} API ${keys.length === 1 ? 'key' : 'keys'}`;
}
