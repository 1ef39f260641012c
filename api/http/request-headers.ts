import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ServiceError } from '../../shared/platform/errors.ts';
import { canonicalJson } from '../../shared/platform/json.ts';

const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/;

/** An idempotency key outside of the header. */
export const idempotencyKeySchema = z
  .string({ error: 'must be a string' })
  .regex(idempotencyKeyPattern, { error: 'must be 1 to 255 visible ASCII characters' });

/** For the OpenAPI document. The functions below read the values, so that no header can cause a 500. */
export const idempotentHeadersSchema = z.object({
  'idempotency-key': z
    .string()
    .optional()
    .meta({
      description:
        '1 to 255 visible ASCII characters. The same key with the same request is carried out once; ' +
        'a repeated creation returns its refund as it is now.',
    }),
  prefer: z.string().optional().meta({
    description: '`wait=N` waits up to N seconds for the outcome, `respond-async` does not wait (RFC 7240).',
  }),
});

export const waitingHeadersSchema = idempotentHeadersSchema.pick({ prefer: true });

/**
 * The Idempotency-Key of a request; null without one.
 * @throws ServiceError validation_error for an invalid one.
 */
export function readIdempotencyKey({ headers }: FastifyRequest): string | null {
  const header = headers['idempotency-key'];
  if (header === undefined) return null;
  if (typeof header === 'string' && idempotencyKeyPattern.test(header)) return header;
  throw new ServiceError('validation_error', 'Idempotency-Key: use 1 to 255 visible ASCII characters.');
}

/** SHA-256 of a request's content; equal for equal content, however it was written. */
export function fingerprintOf(operation: string, content: unknown): Uint8Array<ArrayBuffer> {
  const text = `${operation}\n${canonicalJson(content)}`;
  return Uint8Array.from(createHash('sha256').update(text).digest());
}

export interface WaitPreference {
  waitMs: number;
  /** The value of the Preference-Applied response header; null when the client stated no preference. */
  applied: string | null;
}

/**
 * Reads `Prefer: respond-async` and `Prefer: wait=N` (seconds). Anything else is ignored, as RFC 7240 requires;
 * respond-async takes precedence over wait.
 * @param defaultMs the wait without a preference.
 * @param maxMs the upper limit of any wait.
 */
export function readWaitPreference(
  header: string | string[] | undefined,
  defaultMs: number,
  maxMs: number,
): WaitPreference {
  if (header === undefined) return { waitMs: Math.min(defaultMs, maxMs), applied: null };
  const preferences = [header]
    .flat()
    .flatMap((line) => line.split(','))
    .map((preference) => preference.trim().toLowerCase());
  if (preferences.includes('respond-async')) return { waitMs: 0, applied: 'respond-async' };
  const seconds = preferences
    .map((preference) => /^wait *= *"?(\d{1,6})"?$/.exec(preference)?.[1])
    .find(Boolean);
  if (seconds === undefined) return { waitMs: Math.min(defaultMs, maxMs), applied: null };
  const waitMs = Math.min(Number(seconds) * 1000, maxMs);
  return { waitMs, applied: `wait=${Math.floor(waitMs / 1000)}` };
}
