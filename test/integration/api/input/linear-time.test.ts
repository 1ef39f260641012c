import type { InjectOptions } from 'fastify';
import { beforeAll, describe, expect, test } from 'vitest';
import { browserWord } from '#api/dashboard/words/words.ts';
import { redact } from '#shared/platform/log.ts';
import { signInMember } from '#test/support/dashboard/dashboard-member.ts';
import type { DashboardVisitor } from '#test/support/dashboard/dashboard-visitor.ts';
import { growth } from '#test/support/http/growth.ts';
import {
  braintreeForm,
  type SignedWebhook,
  signBraintree,
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

/** One input for each unit that is repeated. */
const each = (
  what: string,
  units: readonly string[],
  request: (repeatedUnit: string) => InjectOptions,
): Input[] =>
  units.map((unit) => [`${what}: ${JSON.stringify(unit)} again and again`, (text) => request(text(unit))]);

const cancelWith = (name: string) => (value: string) =>
  post(`/v1/refunds/${unknownRefundId}/cancel`, '{}', { [name]: value });

const inHeader: Input[] = [
  ...each('the query', ['&', 'metadata[a]=1&', 'metadata[', ']'], (query) => get(`/v1/refunds?${query}`)),
  [
    'many metadata parameters',
    (text) => get(`/v1/refunds?${numbered(text, (count) => `metadata[${count}]=1&`)}`),
  ],
  ['a time of many digits', (text) => get(`/v1/refunds?createdAfter=2026-11-20T09:30:00.${text('0')}Z`)],
  ...each('the credentials', ['Bearer ', ' '], (key) =>
    get('/v1/refunds', { authorization: `Bearer ${key} a` }),
  ),
  ...each('prefer', ['wait=1,', ' ', '"'], cancelWith('prefer')),
  ...each('x-forwarded-for', ['1.1.1.1,', '::', '['], cancelWith('x-forwarded-for')),
  ...each('cookie', ['refunds_session='], (cookie) => page('/dashboard', { cookie })),
  ...each('the way back', ['/', '\\', 'http://', '..'], (way) =>
    page(`/dashboard/sign-in?next=/dashboard${encodeURIComponent(way).slice(0, 15_000)}`),
  ),
  ...['from', 'amountFrom', 'metadata'].map(
    (name): Input => [
      `the filter ${name}`,
      (text) => page(`/dashboard/${service.organization.id}/test/refunds?${name}=${text('a.')}`),
    ],
  ),
];

const creation = (more: string) => `{"transactionId":"ch_missing","amount":1,"reason":"other",${more}}`;

const inBody: Input[] = [
  ...(
    [
      ['open objects', (text) => text('{"a":')],
      ['many keys', (text) => `{${numbered(text, (count) => `"k${count}":1,`)}"last":1}`],
      ['one key many times', (text) => `{${text('"a":[1],')}"a":[1]}`],
      ['many escapes', (text) => `"${text('\\u0041')}"`],
      ['a number of many digits', (text) => text('9')],
      ['a fraction of many zeros', (text) => `0.${text('0')}1`],
    ] as [what: string, make: (text: (unit: string) => string) => string][]
  ).map(([what, make]): Input => {
    return [`${what} as metadata`, (text) => post('/v1/refunds', creation(`"metadata":${make(text)}`))];
  }),
  ...each('the transaction id', ['ab-'], (id) => post('/v1/refunds', creation(`"transactionId":"${id}"`))),
  ...each('the address of an endpoint', ['https://a', '@', '.', '/../'], (address) =>
    post('/v1/webhook-endpoints', `{"url":"https://${address}"}`),
  ),
  ...each('the email', ['a@', 'a.', ' '], (email) =>
    form('/dashboard/sign-in', new URLSearchParams({ email: `${email}a`, password: 'a' }).toString(), {
      'x-forwarded-for': `10.${Math.floor(Math.random() * 250)}.1.${Math.floor(Math.random() * 250)}`,
    }),
  ),
  ...each('the form', ['_csrf=a&'], (fields) => form('/dashboard/sign-out', fields)),
];

const webhook = (processor: string, { body, headers }: SignedWebhook): InjectOptions => ({
  method: 'POST',
  url: `/webhooks/${processor}/${accounts[processor]}`,
  headers,
  payload: body,
});

/** A form of Braintree's, whatever it says. */
const braintreePost = (payload: string) => ({ ...webhook('braintree', signBraintree('')), payload });

const inWebhook: Input[] = [
  ...each('the notification', ['bt_payload=a&', '&', '%41'], (payload) =>
    braintreePost(`bt_signature=a%7Cb&bt_payload=${payload}`),
  ),
  ...each('the signature', ['public|a&', '|'], (signature) =>
    braintreePost(
      new URLSearchParams({ bt_signature: signature.slice(0, 16_000), bt_payload: 'YQ==' }).toString(),
    ),
  ),
  ...each('the payload', ['A\n', '='], (payload) =>
    webhook('braintree', braintreeForm(payload.slice(0, 180_000))),
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

test.each([
  ['another character and a slash', 'x/'],
  ['nothing else', ''],
])('redirects a dashboard address in linear time: slashes, and then %s', async (_what, end) => {
  const redirected = (length: number) => {
    const url = `/dashboard/${'/'.repeat(length)}${end}`;
    return async () => {
      const { statusCode } = await service.app.inject({ method: 'GET', url });
      expect(statusCode).toBe(308);
    };
  };
  expect(await growth(redirected, 512, mostGrowth)).toBeLessThan(mostGrowth);
});

const ownRules: [what: string, fragments: string[], read: (text: string) => unknown][] = [
  [
    'redacts text',
    ['a://', 'A://+', 'a.', '/', 'Bearer ', 'Basic  a', 'svc_live_', 'sk_', 'invite_a', '1 '],
    redact,
  ],
  ['names a browser', ['Mozilla/5.0 ', 'Chrome/1', '(', ' ', ';', 'Version/', 'Linux '], browserWord],
];

test.each(
  ownRules.flatMap(([what, fragments, read]) => fragments.map((fragment) => [what, fragment, read] as const)),
)('%s in linear time: %j again and again', async (_what, fragment, read) => {
  const reading = (length: number) => {
    const text = fragment.repeat(length / fragment.length);
    return () => {
      for (let time = 0; time < 20; time += 1) read(text);
    };
  };
  expect(await growth(reading, 64, mostGrowth)).toBeLessThan(mostGrowth);
});
