import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { useExposedService } from '#test/support/http/exposed-service.ts';
import { rawRequest } from '#test/support/http/raw-http.ts';
import { expectRefusal } from '#test/support/http/refusal.ts';

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

type Case = [what: string, content: string | Uint8Array];

const notJson: Case[] = [
  ...[
    '{',
    '}',
    '[1,2',
    '{"a":}',
    "{'a':1}",
    'undefined',
    'NaN',
    '// x\n{}',
    '{"a":1}x',
    '\0',
    '{"a":1,}',
  ].map((text): Case => [JSON.stringify(text), text]),
  ...['NaN', 'Infinity', '0x10', '01', '1_000', '+1', '.5', '1.'].map(
    (literal): Case => [`amount ${literal}`, body({ amount: literal })],
  ),
  ['a byte order mark', `\ufeff${body({})}`],
  ['UTF-16', Buffer.from(body({}), 'utf16le')],
  ['a NUL byte within a string', withMetadata('{"a":"\0"}')],
  ['a newline within a string', withMetadata('{"a":"\n"}')],
  ['compressed bytes', gzipSync(body({}))],
  ...(
    [
      [0xff, 0xfe],
      [0xc0, 0xaf],
      [0xed, 0xa0, 0x80],
      [0xf4, 0x90, 0x80, 0x80],
      [0xe2, 0x82],
    ] as const
  ).map(
    (bytes): Case => [
      `bytes that are not UTF-8: ${Buffer.from(bytes).toString('hex')}`,
      Buffer.concat([Buffer.from('{"metadata":{"a":"'), Buffer.from(bytes), Buffer.from('"}}')]),
    ],
  ),
];

const notAnObject: Case[] = ['', '  \r\n ', '[]', '"text"', '5', 'null', 'true', '[{}]'].map((text) => [
  JSON.stringify(text),
  text,
]);

const nestedTooDeeply: Case[] = [
  ['60 000 open brackets', '['.repeat(60_000)],
  ['30 000 pairs of brackets', '['.repeat(30_000) + ']'.repeat(30_000)],
  ['10 000 objects in metadata', withMetadata(nested(10_000))],
  ['metadata of 11 levels', withMetadata(nested(11))],
  ['metadata of 11 levels, the last ones lists', withMetadata('{"a":[[[[[[[[[[1]]]]]]]]]]}')],
];

const ambiguous: Case[] = [
  ['amount twice', '{"transactionId":"ch_hostile","amount":1,"amount":2,"reason":"other"}'],
  [
    'amount twice, once escaped',
    '{"transactionId":"ch_hostile","amount":1,"\\u0061mount":2,"reason":"other"}',
  ],
  ['a key of metadata twice', withMetadata('{"a":1,"a":2}')],
  ['a nested object twice', withMetadata('{"a":{"b":1},"a":{"b":2}}')],
];

const polluting: Case[] = [
  ['__proto__', body({ ['__proto__']: '{"amount":5}' })],
  ['__proto__, escaped', '{"\\u005f_proto__":{"amount":5},"transactionId":"ch_hostile","reason":"other"}'],
  ['__proto__ in metadata', withMetadata('{"__proto__":{"admin":true}}')],
  ['__proto__ within a list of metadata', withMetadata('{"a":[{"__proto__":{"admin":true}}]}')],
  ['constructor.prototype', body({ constructor: '{"prototype":{"admin":true}}' })],
  ['constructor.prototype in metadata', withMetadata('{"constructor":{"prototype":{"admin":true}}}')],
  ['constructor in metadata', withMetadata('{"constructor":"ACME"}')],
  ['prototype deep in metadata', withMetadata('{"a":{"prototype":1}}')],
];

const fields: Case[] = [
  ...[
    ...['1e400', '-1e400', '1e-400', '-0', '0', '-1', '0.5', '9007199254740993', '9007199254740991.4'],
    ...['100.00000000000000001', `1${'0'.repeat(5_000)}`, '"100"', 'true', 'null', '[]', '{}', '[100]'],
  ].map((literal): Case => [`amount ${literal.slice(0, 30)}`, body({ amount: literal })]),
  ...[
    '""',
    '" "',
    '"ch_ a"',
    '"ch_\u00e9"',
    '"\u202ech_1"',
    '"ch_\\u0000"',
    '"ch_\\ud800"',
    '"\\n"',
    '5',
    'null',
  ].map((literal): Case => [`transactionId ${literal}`, body({ transactionId: literal })]),
  ['transactionId of 256 characters', body({ transactionId: `"${'c'.repeat(256)}"` })],
  ...['"Other"', '"other "', '"oth\\u0000er"', '"__proto__"', '["other"]', 'null'].map(
    (literal): Case => [`reason ${literal}`, body({ reason: literal })],
  ),
  ...['"us"', '"usdx"', '"u\u017fd"', '"us\\u0000"', '"xxx"', '"$$$"', 'null', '["usd"]', '840'].map(
    (literal): Case => [`currency ${literal}`, body({ currency: literal })],
  ),
  ...['""', '"Stripe"', '"__proto__"', '"constructor"', '"stripe\\u0000"', 'null', '{}'].map(
    (literal): Case => [`processor ${literal}`, body({ processor: literal })],
  ),
  ['NUL in an unknown field', body({ note: '"\\u0000"' })],
  ['a field of the response', body({ status: '"completed"' })],
  ['an unknown field with a huge name', body({ ['x'.repeat(50_000)]: '1' })],
];

const metadata: Case[] = [
  ['51 keys', withMetadata(keys(51))],
  ['a key of 41 characters', withMetadata(`{"${'k'.repeat(41)}":1}`)],
  ['a key of 21 characters outside of the basic plane', withMetadata(`{"${'\u{1f600}'.repeat(21)}":1}`)],
  ['an empty key', withMetadata('{"":1}')],
  ['one byte more than 16 KiB', withMetadata(metadataOf(16 * 1024 + 1))],
  ['an escaped NUL', withMetadata('{"a":"\\u0000"}')],
  ['an escaped NUL in a key', withMetadata('{"a":{"\\u0000":1}}')],
  ['an escaped NUL in a list of lists', withMetadata('{"a":[["\\u0000"]]}')],
  ['half a surrogate pair', withMetadata('{"a":["\\ud83d"]}')],
  ['half a surrogate pair in a key', withMetadata('{"\\udc00":1}')],
  ['a number that JavaScript makes infinite', withMetadata('{"a":1e400}')],
  ['a whole number that JavaScript changes', withMetadata('{"a":9007199254740993}')],
  ['a list', withMetadata('[]')],
  ['a text', withMetadata('"text"')],
];

describe('a hostile body is refused and changes nothing', () => {
  let before: Record<string, number>;
  beforeEach(async () => {
    before = await exposed.rowCounts();
  });
  afterEach(async () => {
    expect(await exposed.rowCounts()).toEqual(before);
  });

  async function expectInvalid(content: string | Uint8Array, message: RegExp): Promise<void> {
    const answer = await exposed.send(exposed.creation(content, 'Idempotency-Key: hostile'));
    expectRefusal(answer, { status: 400, code: 'validation_error' });
    expect(answer.headers['x-request-id']).toMatch(/^req_/);
    const told = JSON.parse(answer.text).error.message;
    expect(told).toMatch(message);
    expect(told.length).toBeLessThan(300);
  }

  test.each(notJson)('that is not JSON: %s', (_what, content) => expectInvalid(content, /^body: not valid/));
  test.each(notAnObject)('that is not an object: %s', (_what, content) =>
    expectInvalid(content, /^body: must be a JSON object/),
  );
  test.each(nestedTooDeeply)('that is nested too deeply: %s', (_what, content) =>
    expectInvalid(content, /nested (too deeply|deeper)/),
  );
  test.each(ambiguous)('that is ambiguous: %s', (_what, content) => expectInvalid(content, /occurs twice/));
  test.each(polluting)('that could change a prototype: %s', async (_what, content) => {
    await expectInvalid(content, /must not have a key/);
    expect(({} as Record<string, unknown>).admin).toBeUndefined();
  });
  test.each(fields)('with an invalid field: %s', (_what, content) => expectInvalid(content, /^\S+: /));
  test.each(metadata)('with invalid metadata: %s', (_what, content) =>
    expectInvalid(content, /^(body|metadata): /),
  );

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
    ['another type', ['Content-Type: text/plain']],
    ['a relative of JSON', ['Content-Type: application/vnd.api+json']],
    ['a type that only begins like JSON', ['Content-Type: application/jsonp']],
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
    ['a webhook of Stripe', 'POST /webhooks/stripe/acc_1', json],
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

  test.each([
    ['1e2', 100],
    ['1E+2', 100],
    ['100.0', 100],
    ['100', 100],
  ])('with the amount %s as %d', async (literal, amount) => {
    expect((await created(valid({ amount: literal }))).amount).toBe(amount);
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
    [
      'of 64 KiB in chunks of 32 bytes',
      (content: string) =>
        `${content
          .padEnd(64 * 1024)
          .match(/.{32}/g)
          ?.map((part) => `20\r\n${part}\r\n`)
          .join('')}0\r\n\r\n`,
    ],
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
