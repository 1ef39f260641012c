import { randomInt } from 'node:crypto';
import type { InjectOptions } from 'fastify';
import { beforeAll, describe, expect, test } from 'vitest';
import { browserWord } from '#api/dashboard/layout/words.ts';
import { redact } from '#shared/platform/log.ts';
import { signInMember } from '#test/support/dashboard/dashboard-member.ts';
import type { DashboardVisitor } from '#test/support/dashboard/dashboard-visitor.ts';
import { growth } from '#test/support/http/growth.ts';
import {
  braintreeForm,
  braintreeKeys,
  type SignedWebhook,
  signBraintree,
  signStripe,
} from '#test/support/processors/signed-webhooks.ts';
import { unknownRefundId } from '#test/support/refunds/refund-records.ts';
import { useService } from '#test/support/use-service.ts';

const service = useService({ workers: 0, settings: { TRUSTED_PROXIES: ['127.0.0.1'] } });
let visitor: DashboardVisitor;
let accounts: Record<string, string>;
beforeAll(async () => {
  visitor = (await signInMember(service, 'owner')).visitor;
  const where = { organizationId: service.organization.id, environment: 'test' as const };
  const rows = await service.deps.db.processorAccount.findMany({ where });
  accounts = Object.fromEntries(rows.map(({ processor, id }) => [processor, id]));
});

/** Between the growth of linear work, which is 64, and that of quadratic work, which is 4096. */
const mostGrowth = 1_024;

/**
 * The same for a whole request. Part of it takes as long for any input, so that the growth of linear work is far below 64
 * and that of quadratic work is several hundred at least.
 */
const mostGrowthOfRequest = 256;

/** The length of the smaller input. The larger one, of 64 times the length, is just below a limit of the service. */
const lengths = { 'in a header': 240, 'in a body': 1_000, 'in a webhook': 3_900 } as const;

type Input = readonly [what: string, request: (text: (unit: string) => string) => InjectOptions];

const bearer = () => ({ authorization: `Bearer ${service.organization.keys.test.plaintext}` });
const repeated = (length: number) => (unit: string) => unit.repeat(Math.ceil(length / unit.length));

const get = (url: string, headers: Record<string, string> = {}): InjectOptions => ({
  method: 'GET',
  url,
  headers: { ...bearer(), ...headers },
});
const post = (url: string, payload: string, headers: Record<string, string> = {}): InjectOptions => ({
  method: 'POST',
  url,
  headers: { ...bearer(), 'content-type': 'application/json', ...headers },
  payload,
});
const page = (url: string, headers: Record<string, string> = {}): InjectOptions => ({
  method: 'GET',
  url,
  headers: { cookie: visitor.cookie, ...headers },
});
const form = (url: string, payload: string, headers: Record<string, string> = {}): InjectOptions => ({
  method: 'POST',
  url,
  headers: {
    cookie: visitor.cookie,
    'content-type': 'application/x-www-form-urlencoded',
    'sec-fetch-site': 'same-origin',
    ...headers,
  },
  payload,
});

/** Many different units, of about the same length together. */
const numbered = (text: (unit: string) => string, unit: (count: number) => string) =>
  Array.from({ length: Math.ceil(text('x').length / unit(1_000).length) }, (_, count) => unit(count)).join(
    '',
  );

const inHeader: Input[] = [
  ...['%41', '../', '%E2%82%AC'].map(
    (unit): Input => [`the id ${unit} again and again`, (text) => get(`/v1/refunds/${text(unit)}`)],
  ),
  ...['/', '/..', '%2e/'].map(
    (unit): Input => [`the path ${unit} again and again`, (text) => get(`/v1${text(unit)}x`)],
  ),
  ...['&', '=', '%41', 'limit=1&', 'metadata[a]=1&', 'metadata['].map(
    (unit): Input => [`the query ${unit} again and again`, (text) => get(`/v1/refunds?${text(unit)}`)],
  ),
  [
    'many metadata parameters',
    (text) => get(`/v1/refunds?${numbered(text, (count) => `metadata[${count}]=1&`)}`),
  ],
  ...['transactionId', 'createdAfter', 'amountMin', 'after'].map(
    (name): Input => [`a long ${name}`, (text) => get(`/v1/refunds?${name}=${text('1')}`)],
  ),
  ['a time of many digits', (text) => get(`/v1/refunds?createdAfter=2026-11-20T09:30:00.${text('0')}Z`)],
  ['a long event id', (text) => get(`/v1/events?after=${text('evt_')}`)],
  ...Object.entries({
    authorization: ['Bearer ', 'svc_test_'],
    prefer: ['wait=1,', ' ', '"', 'respond-async;'],
    'idempotency-key': ['a', '\t'],
    accept: ['a/b,', ';q=1'],
    'x-forwarded-for': ['127.0.0.1, ', '::'],
    host: ['.', ':'],
    'content-type': [';a=b', '"', 'application/json'],
    'user-agent': ['Mozilla/5.0 (', 'Chrome/1 '],
  }).flatMap(([name, units]) =>
    units.map(
      (unit): Input => [
        `the header ${name}: ${JSON.stringify(unit)} again and again`,
        (text) => post(`/v1/refunds/${unknownRefundId}/cancel`, '{}', { [name]: text(unit) }),
      ],
    ),
  ),
  ['many headers with a message for agents', (text) => post('/mcp', '{}', { accept: text('a/b,') })],
  ...['a=1; ', '"', '%41', 'refunds_session='].map(
    (unit): Input => [
      `the cookie of a page ${unit} again and again`,
      (text) => page('/dashboard', { cookie: text(unit) }),
    ],
  ),
  ...['/', '\\', 'http://', '..'].map(
    (unit): Input => [
      `the way back ${unit} again and again`,
      (text) => page(`/dashboard/sign-in?next=/dashboard${encodeURIComponent(text(unit)).slice(0, 15_000)}`),
    ],
  ),
  [
    'the page that htmx names',
    (text) => page('/dashboard', { cookie: '', 'hx-request': 'true', 'hx-current-url': text('http://a/') }),
  ],
  ...['q', 'from', 'amountFrom', 'metadata'].map(
    (name): Input => [
      `the filter ${name}`,
      (text) => page(`/dashboard/${service.organization.id}/test/refunds?${name}=${text('a.')}`),
    ],
  ),
  ['an invitation token', (text) => page(`/dashboard/invitation/${text('invite_')}`)],
  [
    'a Stripe signature',
    (text) => ({
      ...webhook('stripe', signStripe('{}')),
      headers: { ...signStripe('{}').headers, 'stripe-signature': text('v1=a,t=1,') },
    }),
  ],
  ['a challenge', (text) => get(`/webhooks/braintree/${accounts.braintree}?bt_challenge=${text('a')}`)],
];

const creation = (more: string) => `{"transactionId":"ch_missing","amount":1,"reason":"other",${more}}`;
const call = (more: string) => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${more}}`;

/** JSON of one kind, within a longer text and as a text of its own. */
const jsonParts: [what: string, make: (text: (unit: string) => string) => string][] = [
  ['open brackets', (text) => text('[')],
  ['nested lists', (text) => `${text('[')}${text(']')}`.slice(0, 60_000)],
  ['open objects', (text) => text('{"a":')],
  ['many keys', (text) => `{${numbered(text, (count) => `"k${count}":1,`)}"last":1}`],
  ['one key with lists many times', (text) => `{${text('"a":[1],')}"a":[1]}`],
  ['many list items', (text) => `[${text('1,')}1]`],
  ['many escapes', (text) => `"${text('\\u0041')}"`],
  ['many surrogates', (text) => `"${text('\\ud83d')}"`],
  ['a number of many digits', (text) => text('9')],
  ['a fraction of many zeros', (text) => `0.${text('0')}1`],
  ['white space', (text) => `${text(' \n')}1`],
  ['prototype keys', (text) => `{${numbered(text, (count) => `"constructor${count}":{},`)}"a":1}`],
];

const inBody: Input[] = [
  ...jsonParts.flatMap(([what, make]): Input[] => [
    [`${what} as metadata`, (text) => post('/v1/refunds', creation(`"metadata":${make(text)}`))],
    [`${what} as arguments`, (text) => post('/mcp', call(`{"name":"get_refund","arguments":${make(text)}}`))],
    [`${what} as limits of a key`, (text) => post('/v1/agent-keys', `{"name":"a","limits":${make(text)}}`)],
  ]),
  ...['transactionId', 'currency'].map(
    (field): Input => [
      `a long ${field}`,
      (text) => post('/v1/refunds', creation(`"${field}":"${text('ab-')}"`)),
    ],
  ),
  ...['http://', '@', '.', '[', '/../'].map(
    (unit): Input => [
      `the address ${unit} again and again`,
      (text) => post('/v1/webhook-endpoints', `{"url":"https://${text(unit)}"}`),
    ],
  ),
  ...['a@', '.', ' '].map(
    (unit): Input => [
      `the email ${JSON.stringify(unit)} again and again`,
      (text) =>
        form(
          '/dashboard/sign-in',
          new URLSearchParams({ email: `${text(unit)}a`, password: 'a' }).toString(),
          // Every network may try a few times.
          { 'x-forwarded-for': `10.0.${randomInt(256)}.${randomInt(256)}` },
        ),
    ],
  ),
  ...['&', '%41', '_csrf=a&', 'a[b]=1&'].map(
    (unit): Input => [`the form ${unit} again and again`, (text) => form('/dashboard/sign-out', text(unit))],
  ),
];

const webhook = (processor: string, { body, headers }: SignedWebhook): InjectOptions => ({
  method: 'POST',
  url: `/webhooks/${processor}/${accounts[processor]}`,
  headers,
  payload: body,
});

const notification = (more: string) =>
  `<notification><kind>check</kind><timestamp type="datetime">2026-11-20T09:30:00Z</timestamp>${more}</notification>`;

const inWebhook: Input[] = [
  ...jsonParts.flatMap(([what, make]): Input[] => [
    [`${what} as an event`, (text) => webhook('stripe', signStripe(make(text)))],
  ]),
  ...['public|a&', '|'].map(
    (unit): Input => [
      `the signature ${unit} again and again`,
      (text) => ({
        ...webhook('braintree', signBraintree('')),
        payload: new URLSearchParams({
          bt_signature: text(unit).slice(0, 16_000),
          bt_payload: 'YQ==',
        }).toString(),
      }),
    ],
  ),
  ...['A', '\n', '='].map(
    (unit): Input => [
      `the payload ${JSON.stringify(unit)} again and again`,
      (text) => webhook('braintree', braintreeForm(text(unit).slice(0, 180_000), braintreeKeys('test'))),
    ],
  ),
  ...(
    [
      ['open tags', (text) => text('<a>')],
      ['nested tags', (text) => `${text('<a>')}${text('</a>')}`],
      ['many different tags', (text) => numbered(text, (count) => `<a${count}/>`)],
      ['attributes', (text) => `<a ${numbered(text, (count) => `b${count}="" `)}/>`],
      ['entities', (text) => `<a>${text('&amp;')}</a>`],
      ['a list', (text) => `<a type="array">${text('<b>1</b>')}</a>`],
    ] as [string, (text: (unit: string) => string) => string][]
  ).map(
    ([what, make]): Input => [
      `a signed notification with ${what}`,
      (text) =>
        webhook(
          'braintree',
          signBraintree(notification(make((unit) => text(unit).slice(0, text(unit).length / 3)))),
        ),
    ],
  ),
];

describe.each([
  ['in a header', inHeader],
  ['in a body', inBody],
  ['in a webhook', inWebhook],
] as const)('a request is answered in linear time with %s', (place, inputs) => {
  test.each(inputs)('%s', async (_what, request) => {
    const sent = (length: number) => {
      const options = request(repeated(length));
      return async () => {
        const { statusCode } = await service.app.inject(options);
        // 502: a creation that is valid after all is refused by the processor.
        expect([500, 503, 504]).not.toContain(statusCode);
      };
    };
    expect(await growth(sent, lengths[place], mostGrowthOfRequest)).toBeLessThan(mostGrowthOfRequest);
  });
});

test('redirects a dashboard address in linear time: slashes, and another character', async () => {
  const redirected = (length: number) => {
    const url = `/dashboard/${'/'.repeat(length)}x/`;
    return async () => {
      const { statusCode } = await service.app.inject({ method: 'GET', url });
      expect(statusCode).toBe(308);
    };
  };
  expect(await growth(redirected, 512, mostGrowth)).toBeLessThan(mostGrowth);
});

test.each(['a://', 'A://+', 'a.', '/', 'Bearer ', 'Basic  a', 'svc_live_', 'sk_', 'invite_a', '1 '])(
  'redacts text in linear time: %j again and again',
  async (fragment) => {
    const redacted = (length: number) => {
      const text = fragment.repeat(length / fragment.length);
      return () => {
        for (let time = 0; time < 20; time += 1) redact(text);
      };
    };
    expect(await growth(redacted, 64, mostGrowth)).toBeLessThan(mostGrowth);
  },
);

test.each(['Mozilla/5.0 ', 'Chrome/1', '(', ' ', ';', 'Version/', 'Linux ', 'a'])(
  'names a browser in linear time: %j again and again',
  async (fragment) => {
    const named = (length: number) => {
      const text = fragment.repeat(length / fragment.length);
      return () => browserWord(text);
    };
    expect(await growth(named, 256, mostGrowth)).toBeLessThan(mostGrowth);
  },
);
