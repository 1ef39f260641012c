import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { verifyWebhook, WebhookVerificationError } from '#shared/client/index.ts';

const now = new Date('2026-11-20T09:30:00.000Z');
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now });
});
afterEach(() => {
  vi.useRealTimers();
});

const newSecret = () => `whsec_${randomBytes(24).toString('base64')}`;
const secret = newSecret();
const event = { id: 'evt_1', type: 'refund.completed', data: { refund: { metadata: { note: 'Grüße ✓' } } } };
const body = JSON.stringify(event);
const secondsOf = (time: Date) => String(Math.floor(time.getTime() / 1000));
const later = (seconds: number) => new Date(now.getTime() + seconds * 1000);

/** The headers of a webhook as the public package signs it. */
function sign({ by = [secret], at = now, content = body } = {}): Record<string, string> {
  return {
    'webhook-id': 'evt_1',
    'webhook-timestamp': secondsOf(at),
    'webhook-signature': by.map((each) => new Webhook(each).sign('evt_1', at, content)).join(' '),
  };
}

test.each<[string, string | Uint8Array, () => Parameters<typeof verifyWebhook>[1]]>([
  ['text', body, () => sign()],
  ['bytes', Buffer.from(body), () => sign()],
  ['a Headers object', body, () => new Headers(sign())],
  ['any object with get', body, () => ({ get: (name: string) => sign()[name] ?? null })],
  ['a Map', body, () => new Map(Object.entries(sign()))],
  ['a Map with capitals', body, () => new Map(Object.entries(capitals(sign())))],
  ['repeated headers', body, () => ({ ...sign(), 'webhook-id': ['evt_1'] })],
  ['headers in capitals', body, () => capitals(sign())],
  ['two signatures of which the second is right', body, () => sign({ by: [newSecret(), secret] })],
  [
    'a signature of another version first',
    body,
    () => changedSignature((value) => `v1a,c2lnbmF0dXJl ${value}`),
  ],
  ['a signature five minutes old', body, () => sign({ at: later(-300) })],
  ['a signature five minutes ahead', body, () => sign({ at: later(300) })],
])('accepts %s', (_what, rawBody, headers) => {
  expect(verifyWebhook(rawBody, headers(), secret)).toEqual(event);
});

test.each<[string, string | Uint8Array, () => Record<string, string>, RegExp]>([
  ['a tampered body', body.replace('completed', 'cancelled'), () => sign(), /No signature/],
  ['another time', body, () => ({ ...sign(), 'webhook-timestamp': secondsOf(later(1)) }), /No signature/],
  ['the signature of another secret', body, () => sign({ by: [newSecret()] }), /No signature/],
  ['a cut signature', body, () => changedSignature((value) => value.slice(0, -9)), /No signature/],
  [
    'only another version',
    body,
    () => changedSignature((value) => value.replace('v1,', 'v1a,')),
    /No signature/,
  ],
  [
    'a signature older than five minutes',
    body,
    () => sign({ at: later(-301) }),
    /more than five minutes ago/,
  ],
  ['a signature from the future', body, () => sign({ at: later(301) }), /in the future/],
  ['a time that is no number', body, () => ({ ...sign(), 'webhook-timestamp': '1e9' }), /not a time/],
  ['a missing id', body, () => ({ ...sign(), 'webhook-id': '' }), /header webhook-id is missing/],
  ['no headers', body, () => ({}), /is missing/],
])('refuses %s', (_what, rawBody, headers, message) => {
  const verify = () => verifyWebhook(rawBody, headers(), secret);
  expect(verify).toThrow(WebhookVerificationError);
  expect(verify).toThrow(message);
  // The public package refuses the same.
  expect(() => new Webhook(secret).verify(Buffer.from(rawBody), headers())).toThrow();
});

test('says of a parsed body that it cannot be verified', () => {
  const parsed = JSON.parse(body);
  expect(() => verifyWebhook(parsed, sign(), secret)).toThrow(
    /^rawBody: .* A parsed body cannot be verified/,
  );
});

test('refuses to verify without a secret', () => {
  for (const empty of ['', 'whsec_']) expect(() => verifyWebhook(body, sign(), empty)).toThrow('secret:');
});

test('agrees with the public package on random content', () => {
  for (let round = 0; round < 200; round += 1) {
    const [each, content] = [newSecret(), JSON.stringify({ text: randomBytes(round).toString('latin1') })];
    const headers = sign({ by: [each], content });
    expect(verifyWebhook(content, headers, each)).toEqual(new Webhook(each).verify(content, headers));
  }
});

const changedSignature = (change: (value: string) => string) => {
  const headers = sign();
  return { ...headers, 'webhook-signature': change(headers['webhook-signature'] ?? '') };
};
const capitals = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
