import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../../shared/platform/errors.ts';
import { canonicalJson } from '../../shared/platform/json.ts';

/**
 * The Idempotency-Key of a request; null without one.
 * @throws ServiceError validation_error for one that cannot be kept.
 */
export function readIdempotencyKey({ headers }: FastifyRequest): string | null {
  const header = headers['idempotency-key'];
  if (header === undefined) return null;
  if (typeof header === 'string' && /^[\x21-\x7e]{1,255}$/.test(header)) return header;
  throw new ServiceError('validation_error', 'Idempotency-Key: use 1 to 255 visible ASCII characters.');
}

/** SHA-256 over what a request asks for; the same for the same request, however it was written. */
export function fingerprintOf(operation: string, asked: unknown): Uint8Array<ArrayBuffer> {
  const text = `${operation}\n${canonicalJson(asked)}`;
  return Uint8Array.from(createHash('sha256').update(text).digest());
}
