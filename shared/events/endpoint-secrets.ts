import { randomBytes } from 'node:crypto';
import type { WebhookEndpoint } from '../platform/database.ts';
import type { Sealed, SecretBox } from '../platform/secrets.ts';

/** A new signing secret as its receiver gets it: `whsec_` and 32 random bytes in base64 (Standard Webhooks). */
export function newEndpointSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/**
 * Encrypts a secret of an endpoint, for `encryptedSecret` or `encryptedPreviousSecret`. One key id serves both columns, so a
 * rotation also seals the previous secret again.
 */
export function sealEndpointSecret(secrets: SecretBox, endpointId: string, secret: string): Sealed {
  return secrets.seal(secret, contextOf(endpointId));
}

/** The columns that the secrets of an endpoint are read from. */
export type SealedSecrets = Pick<
  WebhookEndpoint,
  'id' | 'encryptedSecret' | 'encryptedPreviousSecret' | 'previousSecretExpiresAt' | 'encryptionKeyId'
>;

/**
 * The secrets that an endpoint's deliveries are signed with, the newest first: after a rotation also the previous one, until it
 * expires.
 * @throws SecretUnreadableError for an unknown encryption key, or when the bytes were sealed for another endpoint.
 */
export function openEndpointSecrets(secrets: SecretBox, endpoint: SealedSecrets, now: Date): string[] {
  const {
    id,
    encryptedSecret,
    encryptedPreviousSecret,
    previousSecretExpiresAt,
    encryptionKeyId: keyId,
  } = endpoint;
  const isOverlapping = previousSecretExpiresAt !== null && previousSecretExpiresAt > now;
  const sealed = [encryptedSecret, ...(isOverlapping ? [encryptedPreviousSecret] : [])];
  return sealed
    .filter((bytes) => bytes !== null)
    .map((bytes) => secrets.open({ keyId, bytes }, contextOf(id)));
}

function contextOf(endpointId: string): string {
  return `webhook-endpoint/${endpointId}`;
}
