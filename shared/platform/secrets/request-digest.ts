import { createHash } from 'node:crypto';
import type { Environment } from '../environment.ts';
import { canonicalJson } from '../formats/json.ts';
import { sha256 } from './secrets.ts';

/** SHA-256 of a request's content; equal for equal content, however it was written. */
export function fingerprintOf(operation: string, content: unknown): Uint8Array<ArrayBuffer> {
  return sha256(`${operation}\n${canonicalJson(content)}`);
}

/**
 * An idempotency key as it is stored and as processors keep it: SHA-256 in base64url, 43 characters. The same request has the
 * same digest in a database that was restored from a backup, so a refund that was made before is recognized at its processor.
 * @param key 1 to 255 characters.
 */
export function requestDigestOf(
  { organizationId, environment }: { organizationId: string; environment: Environment },
  key: string,
): string {
  return createHash('sha256').update(`${organizationId}\n${environment}\n${key}`).digest('base64url');
}

/** True for text that can be such a digest: others may write anything where processors keep ours. */
export function isRequestDigest(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}
