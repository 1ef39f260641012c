import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type ExposedService, useExposedService } from '#test/support/http/exposed-service.ts';
import { rawRequest } from '#test/support/http/raw-http.ts';
import { expectRefusal } from '#test/support/http/refusal.ts';

/** Makes a request once the service runs. */
type MakeBytes = (exposed: ExposedService) => Uint8Array;

const exposed = useExposedService();
let before: Record<string, number>;
beforeEach(async () => {
  before = await exposed.rowCounts();
});
afterEach(async () => {
  expect(await exposed.rowCounts()).toEqual(before);
});

const json = 'Content-Type: application/json';
const valid = '{"transactionId":"ch_missing","amount":100,"reason":"other"}';

/** A GET of this path with these headers, sent with a valid key. */
const get =
  (path: string, ...headers: string[]): MakeBytes =>
  ({ head }) =>
    rawRequest(head(`GET ${path}`, ...headers));
const asked =
  (method: string, path: string, ...headers: string[]): MakeBytes =>
  ({ head }) =>
    rawRequest(head(`${method} ${path}`, ...headers));
const created =
  (...headers: string[]): MakeBytes =>
  ({ creation }) =>
    creation(valid, ...headers);
const bytes =
  (text: string): MakeBytes =>
  () =>
    Buffer.from(text, 'latin1');

type Case = [what: string, make: MakeBytes];

/** The HTTP parser rejects these before there is a request. */
const notHttp: Case[] = [
  ['the first bytes of TLS', bytes('\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03')],
  ['a header of 20 000 bytes', get('/v1/refunds', `X-A: ${'a'.repeat(20_000)}`)],
  ['two lengths', created('Content-Length: 5')],
  ['a length and chunks', created('Transfer-Encoding: chunked')],
];

const invalid: Case[] = [
  ['no Host', () => rawRequest(['GET /v1/refunds HTTP/1.1', 'Connection: close'])],
  ['two Hosts', get('/v1/refunds', 'Host: other.example')],
  ['two Authorizations', get('/v1/refunds', 'Authorization: Bearer other')],
  ['two content types', ({ creation }) => creation(valid, 'Content-Type: text/plain')],
  ['%zz in the path', get('/v1/refunds/%zz')],
  ['NUL as status', get('/v1/refunds?status=%00')],
  ['the name of a property of objects as query parameter', get('/v1/refunds?__proto__=1')],
  ['the same within metadata', get('/v1/refunds?metadata[__proto__]=1')],
  ['an empty Idempotency-Key', created('Idempotency-Key:')],
  ['an Idempotency-Key of 256 characters', created(`Idempotency-Key: ${'k'.repeat(256)}`)],
  ['a key in a header that is not read', created('X-Idempotency-Key: a')],
  ['two Idempotency-Keys', created('Idempotency-Key: a', 'Idempotency-Key: b')],
  [
    'a bad Idempotency-Key on a cancellation',
    asked('POST', '/v1/refunds/ref_1/cancel', 'Idempotency-Key: \xe9', 'Content-Length: 0'),
  ],
];

const unknown: Case[] = [
  ...['ref_a%2fcancel', 'ref_%0d%0aX-A:%201', '__proto__', 'a'.repeat(5_000)].map(
    (id): Case => [`the id ${id.slice(0, 40)}`, get(`/v1/refunds/${id}`)],
  ),
  ['dots in the path', get('/v1/refunds/../x')],
  [
    'an unknown route with a broken body of a strange type',
    ({ head }) => rawRequest(head('POST /v1/nothing', 'Content-Type: text/xml', 'Content-Length: 2'), '<a'),
  ],
  ['escaped dots out of the documentation', get('/docs/static/%2e%2e%2f%2e%2e%2fpackage.json')],
  ['a header that overrides the method', get('/v1/refunds/ref_1', 'X-HTTP-Method-Override: DELETE')],
];

const otherMethods: Case[] = [
  ...['DELETE', 'OPTIONS', 'TRACE', 'QUERY'].map(
    (method): Case => [`${method} on the refunds`, asked(method, '/v1/refunds')],
  ),
  ['OPTIONS on an asterisk', asked('OPTIONS', '*')],
  ['POST on a refund, overridden', asked('POST', '/v1/refunds/ref_1', 'X-HTTP-Method-Override: GET')],
];

describe('hostile HTTP is refused and changes nothing', () => {
  test.each(notHttp)('that is not valid HTTP: %s', async (_what, make) => {
    const answer = await exposed.send(make(exposed));
    expectRefusal(answer, { status: 400, code: 'validation_error' });
  });

  test.each([
    ...invalid.map(([what, make]) => ({ what, make, status: 400, code: 'validation_error' })),
    ...unknown.map(([what, make]) => ({ what, make, status: 404, code: 'not_found' })),
    ...otherMethods.map(([what, make]) => ({ what, make, status: 405, code: 'method_not_allowed' })),
  ])('with $status $code: $what', async ({ make, status, code }) => {
    const answer = await exposed.send(make(exposed));
    expectRefusal(answer, { status, code });
    expect(answer.headers['x-request-id']).toMatch(/^req_[a-z0-9]{26}$/);
    if (status === 405) expect(answer.headers.allow).toMatch(/GET|POST/);
  });

  test('but request ids, versions, expectations and upgrades of clients are ignored', async () => {
    const lines = [
      'X-Request-Id: mine',
      'Accept-Version: 9',
      'Expect: miracles',
      'Upgrade: h2c',
      'Accept: text/xml',
    ];
    const answer = await exposed.send(rawRequest(exposed.head('GET /v1/refunds', ...lines)));
    expect(answer.text).toBe('{"data":[],"hasMore":false}');
    expect(answer.headers['x-request-id']).toMatch(/^req_/);
  });
});

test('an internal error reveals no details', async () => {
  const { service } = exposed;
  const fault = vi.spyOn(service.deps.connections, 'connect').mockImplementation(() => {
    throw new TypeError('prisma: SELECT secret FROM /srv/app/shared/db.ts:1', { cause: new Error('zod') });
  });
  const answer = await exposed.send(exposed.creation(valid)).finally(() => fault.mockRestore());
  expectRefusal(answer, { status: 500, code: 'internal_error' });
  expect(JSON.parse(answer.text).error.message).toMatch(/^An unexpected error occurred\./);
});

test('a refused body is not read as the next request', async () => {
  const smuggled = 'GET /v1/refunds HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(3);
  const refused = rawRequest(
    ['POST /v1/refunds HTTP/1.1', 'Host: x', json, `Content-Length: ${smuggled.length}`],
    smuggled,
  );
  const next = rawRequest(['GET /healthz HTTP/1.1', 'Host: x', 'Connection: close']);
  const { raw } = await exposed.send(Buffer.concat([refused, next]));
  const statuses = [...raw.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status);
  expect(statuses).toEqual(['401', '200']);
});
