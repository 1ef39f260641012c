import { describe, expect, test } from 'vitest';
import type { Processor } from '#shared/processors/contract/processor.ts';
import {
  braintreeCredentials,
  connect,
  options,
  stripeCredentials,
} from '../../support/processors/processor-variants.ts';
import {
  json,
  type ScriptedServer,
  type Seen,
  useScriptedServers,
  xml,
} from '../../support/processors/scripted-server.ts';

const serve = useScriptedServers();
const probed = ['readPayments', 'disputes', 'list', 'refund', 'cancel'] as const;
const probes = (processor: Processor) =>
  Promise.all(probed.map((ability) => processor.probe(ability, options)));

/** Stripe's names of what a restricted key may need, by the requests that need it. */
const needed: readonly [request: RegExp, permission: string][] = [
  [/^GET \/v1\/charges\//, 'rak_charge_read'],
  [/^GET \/v1\/payment_intents\//, 'rak_payment_intent_read'],
  [/^GET \/v1\/disputes/, 'rak_dispute_read'],
  [/^GET \/v1\/refunds/, 'rak_refund_read'],
  [/^POST \/v1\/refunds$/, 'rak_refund_write'],
  [/^POST \/v1\/refunds\/.+\/cancel$/, 'rak_refund_cancel'],
];

/** A Stripe without payments, for a key that lacks some permissions. It checks the permission before it misses what is named. */
function restrictedStripe(isMissing: (permission: string) => boolean): Promise<ScriptedServer> {
  return serve((call, response) => {
    const permission = permissionFor(call);
    if (isMissing(permission)) {
      const message =
        "The provided key 'rk_test_***abc' does not have the required permissions for this endpoint on account 'acct_1'. " +
        `Having the '${permission}' permission would allow this request to continue.`;
      return json(response, 403, { error: { type: 'invalid_request_error', message } });
    }
    const isList = /^\/v1\/(disputes|refunds)\?/.test(call.path);
    if (call.method === 'GET' && isList) {
      return json(response, 200, { object: 'list', data: [], has_more: false, url: call.path });
    }
    const error = { type: 'invalid_request_error', code: 'resource_missing', message: 'No such object.' };
    json(response, 404, { error });
  });
}

function permissionFor({ method, path }: Seen): string {
  return needed.find(([request]) => request.test(`${method} ${path}`))?.[1] ?? 'rak_unknown';
}

describe('a probe of Stripe', () => {
  test('makes one request for each permission, about what Stripe cannot have, with a new idempotency key', async () => {
    const { url, seen } = await restrictedStripe(() => false);
    const stripe = connect('stripe', stripeCredentials, url);
    expect(await probes(stripe)).toEqual(probed.map((ability) => ({ kind: 'permitted', ability })));
    expect(seen.map(({ method, path, body }) => `${method} ${path} ${body}`.trimEnd()).toSorted()).toEqual([
      'GET /v1/charges/ch_missing_connection_test',
      'GET /v1/disputes?limit=1',
      'GET /v1/payment_intents/pi_missing_connection_test',
      'GET /v1/refunds?created[gte]=978307200&created[lt]=978307201&limit=1',
      'POST /v1/refunds charge=ch_missing_connection_test',
      'POST /v1/refunds/re_missing_connection_test/cancel',
    ]);
    const key = () => seen.findLast(({ path }) => path === '/v1/refunds')?.headers['idempotency-key'];
    const first = key();
    await stripe.probe('refund', options);
    expect(first).toMatch(/^probe-/);
    expect(key()).not.toBe(first);
  });

  test.each([
    ['rak_charge_read', 'readPayments'],
    ['rak_payment_intent_read', 'readPayments'],
    ['rak_dispute_read', 'disputes'],
    ['rak_refund_read', 'list'],
    ['rak_refund_write', 'refund'],
    ['rak_refund_cancel', 'cancel'],
  ] as const)('without the permission %s refuses %s alone, and names it', async (permission, ability) => {
    const { url } = await restrictedStripe((each) => each === permission);
    const answers = await probes(connect('stripe', stripeCredentials, url));
    expect(answers.filter(({ kind }) => kind === 'misconfigured')).toMatchObject([
      { scope: 'ability', ability, permission },
    ]);
    expect(answers.filter(({ kind }) => kind === 'permitted')).toHaveLength(4);
  });

  test('names every missing permission of an ability', async () => {
    const { url } = await restrictedStripe(() => true);
    const answers = await probes(connect('stripe', stripeCredentials, url));
    const [payments, ...others] = answers.map((answer) => 'permission' in answer && answer.permission);
    expect(payments).toBe('rak_charge_read, rak_payment_intent_read');
    expect(others).toEqual(needed.slice(2).map(([, permission]) => permission));
  });

  test('proves nothing by a refusal of the request itself, and reports a key that is bound to other addresses', async () => {
    const error = { type: 'invalid_request_error', message: 'Received unknown parameter: limit' };
    const confused = await serve((_, response) => json(response, 400, { error }));
    for (const answer of await probes(connect('stripe', stripeCredentials, confused.url)))
      expect(answer).toMatchObject({ kind: 'unavailable', failure: { message: error.message } });
    const message = 'The API key provided does not allow requests from your IP address.';
    const elsewhere = await serve((_, response) => json(response, 403, { error: { ...error, message } }));
    for (const answer of await probes(connect('stripe', stripeCredentials, elsewhere.url)))
      expect(answer).toMatchObject({ kind: 'misconfigured', scope: 'credentials' });
  });
});

describe('a probe of Braintree', () => {
  test('names a transaction that Braintree cannot have, and is refused by a role without the permission', async () => {
    let status = 404;
    const { url, seen } = await serve(({ path }, response) =>
      status === 404 && path.endsWith('advanced_search_ids')
        ? xml(
            response,
            200,
            '<search-results><page-size type="integer">50</page-size><ids type="array"/></search-results>',
          )
        : xml(response, status, '<error/>'),
    );
    const braintree = connect('braintree', braintreeCredentials, url);
    expect(await probes(braintree)).toEqual(probed.map((ability) => ({ kind: 'permitted', ability })));
    const prefix = '/merchants/merchant/transactions';
    expect(seen.map(({ method, path }) => `${method} ${path.replace(prefix, '')}`).toSorted()).toEqual([
      'GET /missing_connection_test',
      'GET /missing_connection_test',
      'POST /advanced_search_ids',
      'POST /missing_connection_test/refund',
      'PUT /missing_connection_test/void',
    ]);
    status = 403;
    expect(await probes(braintree)).toMatchObject(
      probed.map((ability) => ({ kind: 'misconfigured', scope: 'ability', ability })),
    );
  });
});
