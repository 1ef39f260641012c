import type { CreatedKey } from '../../../shared/organizations/created-keys.ts';
import { explain } from './output.ts';

/**
 * Names API keys that still work although their creator lost access, with the command that revokes each.
 * @param creator as the subject of a sentence.
 */
export function explainRemainingKeys(creator: string, keys: readonly CreatedKey[]): void {
  if (keys.length === 0) return;
  explain(`${keys.length} API keys that ${creator} created still work. Revoke those that no backend needs:`);
  for (const { id, organizationId, environment, lastFour, lastUsedAt } of keys) {
    const used = lastUsedAt === null ? 'never used' : `last used ${lastUsedAt.toISOString()}`;
    explain(`  key revoke ${id}   # svc_${environment}_...${lastFour} of ${organizationId}, ${used}`);
  }
}
