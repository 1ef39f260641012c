import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { useExposedService } from '#test/support/http/exposed-service.ts';
import { rawRequest } from '#test/support/http/raw-http.ts';
import { expectRefusal } from '#test/support/http/refusal.ts';
import { newRefund } from '#test/support/refunds/new-refund.ts';

const exposed = useExposedService();

const body = (fields: Record<string, string>) =>
  `{${Object.entries({ transactionId: '"ch_hostile"', amount: '100', reason: '"other"', ...fields })
    .map(([name, literal]) => `"${name}":${literal}`)
    .join(',')}}`;
const withMetadata = (literal: string) => body({ metadata: literal });
const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
const keys = (count: number) =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1])));
const listOf = (count: number) => JSON.stringify({ a: Array.from({ length: count }, () => 1) });
/** Metadata of this size as JSON, mostly of multi-byte characters. */
const metadataOf = (bytes: number) => {
  const frame = Buffer.byteLength('{"a":""}');
  const wide = '\u20ac'.repeat(Math.floor((bytes - frame) / 3));
  return `{"a":"${wide}${'x'.repeat((bytes - frame) % 3)}"}`;
};

/** Bodies and what their refusals say: one for each rule. */
const refused: [message: RegExp, bodies: [what: string, content: string | Uint8Array][]][] = [
  [
    /^body: not valid/,
    [
      ['JSON that ends early', '{'],
      ['a number that begins with 0', body({ amount: '01' })],
      ['UTF-16', Buffer.from(body({}), 'utf16le')],
      ['compressed bytes', gzipSync(body({}))],
    ],
  ],
  [/^body: must be a JSON object/, ['', '[]', 'null'].map((text) => [`no object: ${text}`, text])],
  [
    /nested (too deeply|deeper)/,
    [
      ['60 000 open brackets', '['.repeat(60_000)],
      ['metadata of 11 levels, the last ones lists', withMetadata('{"a":[[[[[[[[[[1]]]]]]]]]]}')],
    ],
  ],
  [
    /cannot be stored exactly/,
    [
      ...['1e400', '1e-400', '100.00000000000000001'].map((literal): [string, string] => [
        `amount ${literal}`,
        body({ amount: literal }),
      ]),
      ['a whole number of metadata that JavaScript changes', withMetadata('{"a":9007199254740993}')],
    ],
  ],
  [
    /occurs twice/,
    [
      [
        'amount twice, once escaped',
        '{"transactionId":"ch_hostile","amount":1,"\\u0061mount":2,"reason":"other"}',
      ],
    ],
  ],
  [
    /must not have a key/,
    [
      ['__proto__, escaped', body({ '\\u005f_proto__': '{"amount":5}' })],
      ['constructor.prototype', body({ constructor: '{"prototype":{"admin":true}}' })],
    ],
  ],
  [
    /^(amount|transactionId|reason|currency|note|x+): /,
    [
      ...['-0', '0.5', '"100"'].map((literal): [string, string] => [
        `amount ${literal}`,
        body({ amount: literal }),
      ]),
      ...['""', '"\u202ech_1"', '"ch_\\ud800"', `"${'c'.repeat(256)}"`].map((literal): [string, string] => [
        `transactionId ${literal.slice(0, 20)}`,
        body({ transactionId: literal }),
      ]),
      ['reason "__proto__"', body({ reason: '"__proto__"' })],
      ['currency in other letters', body({ currency: '"u\u017fd"' })],
      ['NUL in an unknown field', body({ note: '"\\u0000"' })],
      ['an unknown field with a huge name', body({ ['x'.repeat(50_000)]: '1' })],
    ],
  ],
  [
    /^(body|metadata): /,
    [
      ['51 keys of metadata', withMetadata(keys(51))],
      ['a key of 41 characters', withMetadata(`{"${'k'.repeat(41)}":1}`)],
      ['one byte more than 16 KiB', withMetadata(metadataOf(16 * 1024 + 1))],
      ['1,001 values', withMetadata(listOf(1_000))],
      ['half a surrogate pair in a key', withMetadata('{"\\udc00":1}')],
    ],
  ],
];

describe('a hostile body is refused and changes nothing', () => {
  let before: Record<string, number>;
  beforeEach(async () => {
    before = await exposed.rowCounts();
  });
  afterEach(async () => {
    expect(await exposed.rowCounts()).toEqual(before);
  });

  const each = refused.flatMap(([message, bodies]) =>
    bodies.map(([what, content]) => [what, content, message] as const),
  );
  test.each(each)('%s', async (_what, content, message) => {
    const answer = await exposed.send(exposed.creation(content, 'Idempotency-Key: hostile'));
    expectRefusal(answer, { status: 400, code: 'validation_error' });
    const told = JSON.parse(answer.text).error.message;
    expect(told).toMatch(message);
    expect(told.length).toBeLessThan(300);
    expect(({} as Record<string, unknown>).admin).toBeUndefined();
  });

  test.each([
    ['with a length', () => exposed.creation(`${body({})}${' '.repeat(65 * 1024)}`)],
    [
      'in chunks, without a length',
      () =>
        rawRequest(
          exposed.head('POST /v1/refunds', 'Content-Type: application/json', 'Transfer-Encoding: chunked'),
          `10400\r\n${' '.repeat(0x10400)}\r\n0\r\n\r\n`,
        ),
    ],
    [
      'that is only announced',
      () =>
        rawRequest(
          exposed.head('POST /v1/refunds', 'Content-Type: application/json', 'Content-Length: 99999999999'),
        ),
    ],
  ])('that is too large, %s', async (_what, make) => {
    expectRefusal(await exposed.send(make()), { status: 413, code: 'payload_too_large' });
  });

  test.each([
    ['no content type', []],
    ['two types in one', ['Content-Type: text/plain, application/json']],
    ['nonsense', ['Content-Type: ;;;']],
    ['a compressed body', ['Content-Type: application/json', 'Content-Encoding: gzip']],
  ])('of an unsupported type: %s', async (_what, headers) => {
    const length = `Content-Length: ${body({}).length}`;
    const bytes = rawRequest(exposed.head('POST /v1/refunds', length, ...headers), body({}));
    expectRefusal(await exposed.send(bytes), { status: 415, code: 'unsupported_media_type' });
  });
});

test.each([
  ['deep lists', /nested too deeply/, `${'['.repeat(1_000)}${']'.repeat(1_000)}`],
  ['empty lists', /more than \d+ values/, '[]'],
])('a batch of 4 MB of %s is refused before its rows are read', async (_what, message, row) => {
  const limit = 4 * 1024 * 1024 - 64;
  const rows = Array.from({ length: Math.floor(limit / (row.length + 1)) }, () => row);
  const content = `{"rows":[${rows}]}`;
  const head = [`Content-Length: ${content.length}`, 'Content-Type: application/json'];
  const answer = await exposed.send(rawRequest(exposed.head('POST /v1/refund-batches', ...head), content));
  expectRefusal(answer, { status: 400, code: 'validation_error' });
  expect(JSON.parse(answer.text).error.message).toMatch(message);
});

const byteByByte = (text: string) => `${[...text].map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`;

describe('a body in very many small chunks', () => {
  const json = 'Content-Type: application/json';
  const form = 'Content-Type: application/x-www-form-urlencoded';
  const bytes = (requestLine: string, ...headers: string[]) =>
    rawRequest(
      exposed.head(requestLine, 'Transfer-Encoding: chunked', 'Sec-Fetch-Site: same-origin', ...headers),
      byteByByte(' '.repeat(5_000)),
    );

  test.each([
    ['a creation', 'POST /v1/refunds', json],
    ['a cancellation', 'POST /v1/refunds/ref_1/cancel', form],
    ['a message for agents', 'POST /mcp', json],
    ['a webhook of Braintree', 'POST /webhooks/braintree/acc_1', form],
    ['a form', 'POST /dashboard/sign-in', form],
  ])('is refused before its end: %s', async (_what, requestLine, type) => {
    const { status, text } = await exposed.send(bytes(requestLine, type));
    expect(status).toBe(400);
    expect(text).toContain('too many small chunks');
  });

  test.each([
    ['without a key', 'POST /v1/refunds', 401],
    ['to an unknown address', 'POST /nothing', 404],
    ['to an address that is none', 'POST /%zz', 400],
  ])('%s is not read: the connection is closed', async (_what, requestLine, status) => {
    const kept = bytes(requestLine, json)
      .toString()
      .replace(/Connection: close\r\n|Authorization: .*\r\n/g, '');
    const answer = await exposed.send(Buffer.from(kept));
    expect(answer.status).toBe(status);
    expect(answer.headers.connection).toBe('close');
  });
});

test('the rest of a body that a waiting request has not read is not read: the connection is closed', async () => {
  const lines = exposed
    .head('GET /v1/payments/ch_hostile', 'Transfer-Encoding: chunked')
    .filter((line) => line !== 'Connection: close');
  const answer = await exposed.send(rawRequest(lines, '1\r\n \r\n'));
  expect([answer.status, answer.headers.connection]).toEqual([200, 'close']);
});

describe('an unusual but valid body is accepted', () => {
  async function created(content: string) {
    const { status, text, raw } = await exposed.send(exposed.creation(content));
    expect(status, raw).toBe(200);
    return JSON.parse(text).data;
  }
  let count = 0;
  const valid = (more: Record<string, string> = {}) => {
    count += 1;
    return body({ transactionId: `"ch_hostile${count}"`, ...more });
  };

  test('after a byte order mark, with an amount in another notation', async () => {
    expect((await created(`\ufeff${valid({ amount: '1E+2' })}`)).amount).toBe(100);
  });

  test.each([
    ['50 keys', keys(50)],
    ['a key of 40 characters', `{"${'k'.repeat(40)}":1}`],
    ['10 levels', nested(10)],
    ['exactly 16 KiB, as bytes', metadataOf(16 * 1024)],
    ['1,000 values', listOf(999)],
    ['names that objects have anyway', '{"toString":"x","hasOwnProperty":1,"then":null}'],
    ['numbers at the edge, one of them twice', '{"a":9007199254740991,"b":5e-324,"b":5e-324}'],
  ])('with metadata unchanged: %s', async (_what, literal) => {
    const refund = await created(valid({ metadata: literal }));
    const got = await exposed.service.call('GET', `/v1/refunds/${refund.id}`);
    expect(refund.metadata).toEqual(JSON.parse(literal));
    expect(got.body.data.metadata).toEqual(JSON.parse(literal));
  });

  test('of exactly 64 KiB', async () => {
    const content = valid();
    await created(content + ' '.repeat(64 * 1024 - content.length));
  });

  test('in chunks of one byte, as it is short', async () => {
    const type = 'Content-Type: application/json; charset=utf-8';
    const lines = exposed.head('POST /v1/refunds', type, 'Transfer-Encoding: chunked');
    expect((await exposed.send(rawRequest(lines, byteByByte(valid())))).status).toBe(200);
  });
});

describe('a cancellation', () => {
  const cancel = async (content: string | Uint8Array, ...headers: string[]) => {
    const { id } = await newRefund(exposed.service);
    const length = `Content-Length: ${Buffer.byteLength(content)}`;
    const head = exposed.head(`POST /v1/refunds/${id}/cancel`, length, ...headers);
    const answer = await exposed.send(rawRequest(head, content));
    const { body: read } = await exposed.service.call('GET', `/v1/refunds/${id}`);
    return { answer, status: read.data.status };
  };

  test.each<[what: string, content: string | Uint8Array, ...headers: string[]]>([
    ['nothing of no type', ''],
    ['compressed JSON', gzipSync('{}'), 'Content-Type: application/json', 'Content-Encoding: gzip'],
    ['text of a type that is none', 'text', 'Content-Type: ;;;'],
    ['text of the largest size', 'x'.repeat(64 * 1024), 'Content-Type: text/plain'],
  ])('takes any body: %s', async (_what, content, ...headers) => {
    expect(await cancel(content, ...headers)).toMatchObject({ answer: { status: 200 }, status: 'cancelled' });
  });

  test('with a body above 64 KiB cancels nothing', async () => {
    const { answer, status } = await cancel('x'.repeat(64 * 1024 + 1), 'Content-Type: text/plain');
    expectRefusal(answer, { status: 413, code: 'payload_too_large' });
    expect(status).toBe('processing');
  });
});
