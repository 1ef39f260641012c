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
/** Metadata of this size as JSON, mostly of multi-byte characters. */
const metadataOf = (bytes: number) => {
  const frame = Buffer.byteLength('{"a":""}');
  const wide = '\u20ac'.repeat(Math.floor((bytes - frame) / 3));
  return `{"a":"${wide}${'x'.repeat((bytes - frame) % 3)}"}`;
};

/** Bodies and what their refusals say. */
const refused: [message: RegExp, bodies: [what: string, content: string | Uint8Array][]][] = [
  [
    /^body: not valid/,
    [
      ...['{', '// x\n{}', '{"a":1}x', '\0'].map((text): [string, string] => [JSON.stringify(text), text]),
      ['a number that begins with 0', body({ amount: '01' })],
      ['UTF-16', Buffer.from(body({}), 'utf16le')],
      ['a NUL byte within a string', withMetadata('{"a":"\0"}')],
      ['compressed bytes', gzipSync(body({}))],
      ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ],
  ],
  [
    /^body: must be a JSON object/,
    ['', '  \r\n ', '[]', '"text"', 'null'].map((text) => [`no object: ${JSON.stringify(text)}`, text]),
  ],
  [
    /nested (too deeply|deeper)/,
    [
      ['60 000 open brackets', '['.repeat(60_000)],
      ['10 000 objects in metadata', withMetadata(nested(10_000))],
      ['metadata of 11 levels', withMetadata(nested(11))],
      ['metadata of 11 levels, the last ones lists', withMetadata('{"a":[[[[[[[[[[1]]]]]]]]]]}')],
    ],
  ],
  [
    /cannot be stored exactly/,
    [
      ...['1e400', '1e-400', '9007199254740993', '100.00000000000000001'].map((literal): [string, string] => [
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
      ['a nested object twice', withMetadata('{"a":{"b":1},"a":{"b":2}}')],
    ],
  ],
  [
    /must not have a key/,
    [
      ['__proto__, escaped', body({ '\\u005f_proto__': '{"amount":5}' })],
      ['__proto__ within a list of metadata', withMetadata('{"a":[{"__proto__":{"admin":true}}]}')],
      ['constructor.prototype', body({ constructor: '{"prototype":{"admin":true}}' })],
      ['constructor in metadata', withMetadata('{"constructor":"ACME"}')],
    ],
  ],
  [
    /^(amount|transactionId|reason|currency|processor|note|status|x+): /,
    [
      ...['-0', '0.5', '"100"', 'null'].map((literal): [string, string] => [
        `amount ${literal}`,
        body({ amount: literal }),
      ]),
      ...['""', '"ch_ a"', '"\u202ech_1"', '"ch_\\u0000"', '"ch_\\ud800"', `"${'c'.repeat(256)}"`, '5'].map(
        (literal): [string, string] => [
          `transactionId ${literal.slice(0, 20)}`,
          body({ transactionId: literal }),
        ],
      ),
      ['reason "__proto__"', body({ reason: '"__proto__"' })],
      ['currency in other letters', body({ currency: '"u\u017fd"' })],
      ['an unknown currency', body({ currency: '"xxx"' })],
      ['processor "constructor"', body({ processor: '"constructor"' })],
      ['NUL in an unknown field', body({ note: '"\\u0000"' })],
      ['a field of the response', body({ status: '"completed"' })],
      ['an unknown field with a huge name', body({ ['x'.repeat(50_000)]: '1' })],
    ],
  ],
  [
    /^(body|metadata): /,
    [
      ['51 keys of metadata', withMetadata(keys(51))],
      ['a key of 41 characters', withMetadata(`{"${'k'.repeat(41)}":1}`)],
      ['an empty key', withMetadata('{"":1}')],
      ['one byte more than 16 KiB', withMetadata(metadataOf(16 * 1024 + 1))],
      ['an escaped NUL in a list of lists', withMetadata('{"a":[["\\u0000"]]}')],
      ['half a surrogate pair in a key', withMetadata('{"\\udc00":1}')],
      ['metadata that is a list', withMetadata('[]')],
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

/** A body as chunks of one byte each. */
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

describe('an unusual but valid body is accepted', () => {
  async function created(
    content: string,
  ): Promise<{ metadata: Record<string, string[]>; amount: number; id: string }> {
    const { status, text, raw } = await exposed.send(exposed.creation(content));
    expect(status, raw).toBe(200);
    return JSON.parse(text).data;
  }
  let count = 0;
  const fresh = () => {
    count += 1;
    return `"ch_hostile${count}"`;
  };
  const valid = (more: Record<string, string>) => body({ transactionId: fresh(), ...more });

  test('after a byte order mark', async () => {
    expect((await created(`\ufeff${valid({})}`)).amount).toBe(100);
  });

  test('with an amount in another notation', async () => {
    expect((await created(valid({ amount: '1E+2' }))).amount).toBe(100);
  });

  test.each([
    ['50 keys', keys(50)],
    ['a key of 40 characters', `{"${'k'.repeat(40)}":1}`],
    ['10 levels', nested(10)],
    ['exactly 16 KiB, as bytes', metadataOf(16 * 1024)],
    ['names that objects have anyway', '{"toString":"x","hasOwnProperty":1,"length":-1,"then":null}'],
    ['the same key twice with the same value', '{"a":1,"a":1}'],
    ['numbers at the edge', '{"a":9007199254740991,"b":1e-308,"c":5e-324,"d":0.30000000000000004}'],
  ])('with metadata unchanged: %s', async (_what, literal) => {
    const refund = await created(valid({ metadata: literal }));
    const got = await exposed.service.call('GET', `/v1/refunds/${refund.id}`);
    expect(refund.metadata).toEqual(JSON.parse(literal));
    expect(got.body.data.metadata).toEqual(JSON.parse(literal));
  });

  test('with text in every script unchanged byte for byte', async () => {
    const text = [
      'na\u00efve \u20ac \u4f60\u597d \u{1f469}\u200d\u{1f469}\u200d\u{1f467} \u{10ffff} \ufeff \u2028\u2029 \uffff \u007f',
      '\u202e\u0645\u0631\u062d\u0628\u0627\u202c \u05e9\u05dc\u05d5\u05dd e\u0301 \u00e9 <script>\'"\\/ \t\n',
    ].join('');
    const refund = await created(valid({ metadata: JSON.stringify({ [text.slice(0, 30)]: [text] }) }));
    const got = await exposed.send(rawRequest(exposed.head(`GET /v1/refunds/${refund.id}`)));
    for (const answered of [refund.metadata, JSON.parse(got.text).data.metadata]) {
      expect(Buffer.from(answered[text.slice(0, 30)][0])).toEqual(Buffer.from(text));
      expect(Object.keys(answered)).toEqual([text.slice(0, 30)]);
    }
  });

  test('of exactly 64 KiB', async () => {
    const content = valid({});
    await created(content + ' '.repeat(64 * 1024 - content.length));
  });

  test.each([
    ['in one chunk', (content: string) => `${content.length.toString(16)}\r\n${content}\r\n0\r\n\r\n`],
    ['in chunks of one byte, as it is short', byteByByte],
  ])('%s', async (_what, inChunks) => {
    const chunks = inChunks(valid({}));
    const lines = exposed.head(
      'POST /v1/refunds',
      'Content-Type: application/json; charset=utf-8',
      'Transfer-Encoding: chunked',
    );
    expect((await exposed.send(rawRequest(lines, chunks))).status).toBe(200);
  });
});

describe('a cancellation', () => {
  const created = async () => (await newRefund(exposed.service)).id;
  const cancel = async (id: string, content: string | Uint8Array, ...headers: string[]) => {
    const length = `Content-Length: ${Buffer.byteLength(content)}`;
    const head = exposed.head(`POST /v1/refunds/${id}/cancel`, length, ...headers);
    return await exposed.send(rawRequest(head, content));
  };
  const json = 'Content-Type: application/json';

  test.each<[what: string, content: string | Uint8Array, ...headers: string[]]>([
    ['nothing of no type', ''],
    ['empty JSON', '', json],
    ['JSON that ends early', '{"force":', json],
    ['bytes that are not UTF-8', Buffer.from([0xff, 0xfe, 0x00]), json],
    ['compressed JSON', gzipSync('{}'), json, 'Content-Encoding: gzip'],
    ['a form of several parts', '--a\r\n\r\n--a--', 'Content-Type: multipart/form-data; boundary=a'],
    ['text of a type that is none', 'text', 'Content-Type: ;;;'],
    ['text of the largest size', 'x'.repeat(64 * 1024), 'Content-Type: text/plain'],
  ])('takes any body: %s', async (_what, content, ...headers) => {
    const id = await created();
    const { status, text } = await cancel(id, content, ...headers);
    expect(status, text).toBe(200);
    expect(JSON.parse(text).data).toMatchObject({ id, status: 'cancelled' });
  });

  test('with a body above 64 KiB cancels nothing', async () => {
    const id = await created();
    const answer = await cancel(id, 'x'.repeat(64 * 1024 + 1), 'Content-Type: text/plain');
    expectRefusal(answer, { status: 413, code: 'payload_too_large' });
    const { body: read } = await exposed.service.call('GET', `/v1/refunds/${id}`);
    expect(read.data.status).toBe('processing');
  });
});
