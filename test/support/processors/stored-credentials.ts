import type { ProcessorAccount } from '#shared/platform/database.ts';
import type { SecretBox } from '#shared/platform/secrets/secrets.ts';
import { credentialContext } from '#shared/processors/accounts/account.ts';

/** The stored credentials of an account with credentials of its own. */
export function openCredentials(secrets: SecretBox, account: ProcessorAccount): Record<string, unknown> {
  return JSON.parse(secrets.open(sealedOf(account), credentialContext(account)));
}

/** As they are stored. */
export function sealedOf({ encryptionKeyId, encryptedCredentials }: ProcessorAccount) {
  if (encryptionKeyId === null || encryptedCredentials === null)
    throw new TypeError('It has no credentials.');
  return { keyId: encryptionKeyId, bytes: encryptedCredentials };
}
