import { randomBytes } from 'node:crypto';
import type { WebhookEndpoint } from '../platform/database.ts';
import type { SecretBox } from '../platform/secrets/secrets.ts';

/** A new signing secret as its receiver gets it: `whsec_` and 32 random bytes in base64 (Standard Webhooks). */
export function newEndpointSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/**
 * The columns of an endpoint whose secrets are the given ones, the newest first. All but the first one expire; they are sealed
 * together, separated by spaces. One key id serves both columns, so a rotation also seals the previous secrets again.
 */
export function secretColumns(
  secrets: SecretBox,
  endpointId: string,
  [secret, ...previous]: readonly [string, ...string[]],
  previousSecretExpiresAt: Date | null,
): Omit<SealedSecrets, 'id'> {
  const { bytes, keyId } = secrets.seal(secret, contextOf(endpointId));
  const columns = { encryptedSecret: bytes, encryptionKeyId: keyId };
  if (previous.length === 0) {
    return { ...columns, encryptedPreviousSecret: null, previousSecretExpiresAt: null };
  }
  const { bytes: encryptedPreviousSecret } = secrets.seal(previous.join(' '), contextOf(endpointId));
  return { ...columns, encryptedPreviousSecret, previousSecretExpiresAt };
}

/** The columns that the secrets of an endpoint are read from. */
export type SealedSecrets = Pick<
  WebhookEndpoint,
  'id' | 'encryptedSecret' | 'encryptedPreviousSecret' | 'previousSecretExpiresAt' | 'encryptionKeyId'
>;

/**
 * The secrets that an endpoint's deliveries are signed with, the newest first: after a rotation also the previous ones, until
 * they expire.
 * @throws SecretUnreadableError for an unknown encryption key, or when the bytes were sealed for another endpoint.
 */
export function openEndpointSecrets(
  secrets: SecretBox,
  endpoint: SealedSecrets,
  now: Date,
): [string, ...string[]] {
  const { id, encryptedSecret, encryptedPreviousSecret, previousSecretExpiresAt, encryptionKeyId } = endpoint;
  const open = (bytes: Uint8Array) => secrets.open({ keyId: encryptionKeyId, bytes }, contextOf(id));
  const isOverlapping = previousSecretExpiresAt !== null && previousSecretExpiresAt > now;
  if (!isOverlapping || encryptedPreviousSecret === null) return [open(encryptedSecret)];
  return [open(encryptedSecret), ...open(encryptedPreviousSecret).split(' ')];
}

function contextOf(endpointId: string): string {
  return `webhook-endpoint/${endpointId}`;
}
