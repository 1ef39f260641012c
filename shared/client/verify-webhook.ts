import { createHmac, timingSafeEqual } from 'node:crypto';
import type { RefundEvent, RootEvent, TestEvent } from './types.ts';

/** A webhook that this service did not sign, or not within the last five minutes. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

type HeaderValue = string | readonly string[] | null | undefined;

/** Anything with a `get` that takes the name of a header, such as `Headers` or a Map, or an object such as that of a request of node:http. */
export type WebhookHeaders = { get(name: string): HeaderValue } | Readonly<Record<string, HeaderValue>>;

const toleranceSeconds = 5 * 60;

/**
 * Verifies a webhook by Standard Webhooks (standardwebhooks.com).
 * @param rawBody the body as it was received, before it is parsed.
 * @param secret of the webhook endpoint, `whsec_...`.
 * @returns the event. Its `id` is the same whenever it is delivered again.
 * @throws WebhookVerificationError if it must not be trusted. Answer 400.
 */
export function verifyWebhook(
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string,
): RefundEvent | RootEvent | TestEvent {
  if (typeof rawBody !== 'string' && !ArrayBuffer.isView(rawBody)) {
    throw new TypeError(
      'rawBody: pass the body as it was received, as text or bytes. A parsed body cannot be verified: its text may have been another.',
    );
  }
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => {
    const value = readHeader(headers, name);
    if (value) return value;
    throw new WebhookVerificationError(`The header ${name} is missing.`);
  }) as [string, string, string];
  checkAge(timestamp);
  const expected = createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.`).update(rawBody).digest();
  if (!signatures.split(' ').some((signature) => isSignature(signature, expected))) {
    throw new WebhookVerificationError(
      'No signature matches. Check the secret, and that the body is verified as it was received.',
    );
  }
  return JSON.parse(typeof rawBody === 'string' ? rawBody : new TextDecoder().decode(rawBody));
}

function readHeader(headers: WebhookHeaders, name: string): string | undefined {
  const value = hasGet(headers) ? headers.get(name) : undefined;
  const found = value ?? entriesOf(headers).find(([given]) => given.toLowerCase() === name)?.[1];
  return typeof found === 'string' ? found : found?.[0];
}

function hasGet(headers: WebhookHeaders): headers is { get(name: string): HeaderValue } {
  return typeof headers.get === 'function';
}

/** Those of a Map and of a plain object, whose names may have capitals. */
function entriesOf(headers: WebhookHeaders): [string, HeaderValue][] {
  return headers instanceof Map ? [...headers] : Object.entries(headers);
}

function checkAge(timestamp: string): void {
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookVerificationError('The header webhook-timestamp is not a time in seconds.');
  }
  const ageSeconds = Math.floor(Date.now() / 1000) - Number(timestamp);
  if (Math.abs(ageSeconds) > toleranceSeconds) {
    throw new WebhookVerificationError(
      ageSeconds > 0
        ? 'The webhook was signed more than five minutes ago.'
        : 'The webhook was signed more than five minutes in the future. Check the clock of this machine.',
    );
  }
}

function keyOf(secret: string): Uint8Array {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  if (key.length === 0) throw new TypeError('secret: pass the secret of the webhook endpoint, whsec_...');
  return key;
}

/** @param signature one of the header's, such as `v1,<base64>`. */
function isSignature(signature: string, expected: Uint8Array): boolean {
  if (!signature.startsWith('v1,')) return false;
  const given = Buffer.from(signature.slice('v1,'.length), 'base64');
  return given.length === expected.length && timingSafeEqual(given, expected);
}
