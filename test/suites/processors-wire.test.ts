import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import {
  benches,
  connect,
  json,
  referenceOf,
  type ScriptedServer,
  type Seen,
  scriptedServer,
  submissionFor,
  xml,
} from './processors-bench.ts';

const options = { timeoutMs: 5_000 };
const [stripeBench, braintreeBench] = benches;
if (stripeBench === undefined || braintreeBench === undefined) throw new Error('no benches');

const servers: ScriptedServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serve(answer: (seen: Seen, response: ServerResponse) => void): Promise<ScriptedServer> {
  const server = await scriptedServer(answer);
  servers.push(server);
  return server;
}

/** Sends a byte now and then, for ever: a timeout that starts anew with every byte never ends this. */
function drip(response: ServerResponse, contentType: string): void {
  response.writeHead(200, { 'content-type': contentType });
  const timer = setInterval(() => response.write(' '), 50);
  response.on('close', () => clearInterval(timer));
}

const refundJson = (changes: object = {}) => ({
  object: 'refund',
  id: 're_1',
  amount: 1_500,
  currency: 'usd',
  status: 'pending',
  metadata: {},
  ...changes,
});

const chargeJson = (changes: object = {}) => ({
  object: 'charge',
  id: 'ch_1',
  amount: 5_000,
  amount_captured: 5_000,
  amount_refunded: 0,
  captured: true,
  created: 1_700_000_000,
  currency: 'usd',
  ...changes,
});

const transactionXml = (fields: Record<string, string>, refundIds: string[] = []) => {
  const all = {
    id: 'sale1',
    type: 'sale',
    status: 'settled',
    amount: '50.00',
    'currency-iso-code': 'USD',
    ...fields,
  };
  const elements = Object.entries(all).map(([name, value]) => `<${name}>${value}</${name}>`);
  const ids = refundIds.map((id) => `<item>${id}</item>`).join('');
  return (
    `<transaction>${elements.join('')}<created-at type="datetime">2026-01-31T12:00:00Z</created-at>` +
    `<refund-ids type="array">${ids}</refund-ids></transaction>`
  );
};

const creditXml = (fields: Record<string, string> = {}) =>
  transactionXml({
    id: 'credit1',
    type: 'credit',
    status: 'submitted_for_settlement',
    amount: '15.00',
    'refunded-transaction-id': 'sale1',
    ...fields,
  });

describe('a deadline', () => {
  test('holds for Stripe against an answer that never ends', async () => {
    const { url } = await serve((_, response) => drip(response, 'application/json'));
    const stripe = connect('stripe', stripeBench.credentials, url);
    const startedAt = performance.now();
    const submission = submissionFor('ch_1');
    const answers = await Promise.all([
      stripe.createRefund(submission, { timeoutMs: 300 }),
      stripe.getTransaction('pi_1', { timeoutMs: 300 }),
      stripe.findRefund(referenceOf(submission), { timeoutMs: 300 }),
      stripe.cancelRefund('re_1', referenceOf(submission), { timeoutMs: 300 }),
    ]);
    expect(performance.now() - startedAt).toBeLessThan(1_500);
    expect(answers.map(({ kind }) => kind)).toEqual(['unknown', 'unavailable', 'unavailable', 'unknown']);
  });

  test('holds for Braintree against an answer that never ends, and lets go of the connection', async () => {
    let open = 0;
    const { url } = await serve((seen, response) => {
      if (seen.method === 'GET' && seen.path.endsWith('/sale1')) {
        xml(response, 200, transactionXml({}));
        return;
      }
      open += 1;
      response.on('close', () => {
        open -= 1;
      });
      drip(response, 'application/xml');
    });
    const braintree = connect('braintree', braintreeBench.credentials, url);
    const startedAt = performance.now();
    const submission = submissionFor('sale1');
    const answers = await Promise.all([
      braintree.createRefund(submission, { timeoutMs: 600 }),
      braintree.getTransaction('sale2', { timeoutMs: 300 }),
      braintree.getRefund('credit1', referenceOf(submission), { timeoutMs: 300 }),
      braintree.cancelRefund('credit1', referenceOf(submission), { timeoutMs: 300 }),
    ]);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    expect(answers.map(({ kind }) => kind)).toEqual(['unknown', 'unavailable', 'unavailable', 'unknown']);
    await expect.poll(() => open).toBe(0);
  });

  test('is one for all requests of a call', async () => {
    const slowly = (response: ServerResponse, send: () => void) => {
      const timer = setTimeout(send, 250);
      response.on('close', () => clearTimeout(timer));
    };
    const { url, seen } = await serve((call, response) =>
      slowly(response, () => {
        if (call.path.startsWith('/v1/charges')) json(response, 200, chargeJson({ amount_refunded: 300 }));
        else if (call.path.startsWith('/v1/refunds'))
          json(response, 200, {
            object: 'list',
            data: [refundJson({ id: `re_${seen.length}` })],
            has_more: true,
          });
        else
          xml(
            response,
            200,
            call.path.endsWith('/sale1') ? transactionXml({}, Array(40).fill('credit1')) : creditXml(),
          );
      }),
    );
    const startedAt = performance.now();
    const answers = await Promise.all([
      connect('stripe', stripeBench.credentials, url).getTransaction('ch_1', { timeoutMs: 600 }),
      connect('braintree', braintreeBench.credentials, url).getTransaction('sale1', { timeoutMs: 600 }),
    ]);
    expect(performance.now() - startedAt).toBeLessThan(1_500);
    expect(answers).toMatchObject([
      { kind: 'unavailable', failure: { code: 'timeout' } },
      { kind: 'unavailable', failure: { code: 'timeout' } },
    ]);
  });
});

describe('Stripe on the wire', () => {
  const submission = submissionFor('ch_1', { reason: 'duplicate_charge' });

  test('a refund names the payment, the amount, our refund and its key, in one request', async () => {
    const { url, seen } = await serve((_, response) => json(response, 200, refundJson()));
    const stripe = connect('stripe', stripeBench.credentials, url);
    await stripe.createRefund(submission, options);
    await stripe.createRefund({ ...submission, transactionId: 'pi_1', reason: 'fraudulent' }, options);
    expect(seen.map(({ method, path }) => `${method} ${path}`)).toEqual(Array(2).fill('POST /v1/refunds'));
    expect(seen.map(({ headers }) => headers['idempotency-key'])).toEqual(
      Array(2).fill(submission.idempotencyKey),
    );
    expect(seen.map(({ body }) => Object.fromEntries(new URLSearchParams(body)))).toEqual([
      { charge: 'ch_1', amount: '1500', reason: 'duplicate', 'metadata[refund_id]': submission.refundId },
      {
        payment_intent: 'pi_1',
        amount: '1500',
        reason: 'requested_by_customer',
        'metadata[refund_id]': submission.refundId,
      },
    ]);
  });

  test.each([
    ['another amount', refundJson({ amount: 1_499 }), 'mismatched'],
    ['another currency', refundJson({ currency: 'eur' }), 'mismatched'],
    ['no refund at all', { id: 're_1' }, 'unknown'],
    ['a payment', chargeJson(), 'unknown'],
    ['a refund without an amount', refundJson({ amount: null }), 'unknown'],
    ['a currency nobody knows', refundJson({ currency: 'zzz' }), 'unknown'],
    ['an empty object', {}, 'unknown'],
    ['null', null, 'unknown'],
  ])('a submission answered with %s is not accepted', async (_, reply, kind) => {
    const { url } = await serve((_seen, response) => json(response, 200, reply));
    expect(
      await connect('stripe', stripeBench.credentials, url).createRefund(submission, options),
    ).toMatchObject({
      kind,
    });
  });

  test.each([
    ['a broken body', 200, '{"object":"ref'],
    ['a page in HTML', 200, '<html></html>'],
    ['a gateway in HTML', 502, '<html></html>'],
    ['nothing', 200, ''],
    ['a redirect', 307, ''],
  ])('a submission answered with %s is unknown, and not repeated', async (_, status, body) => {
    const { url, seen } = await serve((_seen, response) => {
      response.writeHead(status, { location: '/v1/elsewhere' });
      response.end(body);
    });
    expect(
      await connect('stripe', stripeBench.credentials, url).createRefund(submission, options),
    ).toMatchObject({
      kind: 'unknown',
      answered: false,
    });
    expect(seen).toHaveLength(1);
  });

  test('a connection that breaks is unknown, and the request is not repeated', async () => {
    const { url, seen } = await serve((_, response) => {
      response.socket?.resetAndDestroy();
    });
    expect(
      await connect('stripe', stripeBench.credentials, url).createRefund(submission, options),
    ).toMatchObject({
      kind: 'unknown',
      answered: false,
    });
    expect(seen).toHaveLength(1);
  });

  test('all pages of a list of refunds are read', async () => {
    const { url, seen } = await serve((call, response) => {
      const after = new URL(call.path, 'http://stripe').searchParams.get('starting_after');
      const data = [
        refundJson(after === null ? {} : { id: 're_2', metadata: { refund_id: submission.refundId } }),
      ];
      json(response, 200, { object: 'list', data, has_more: after === null });
    });
    const stripe = connect('stripe', stripeBench.credentials, url);
    expect(await stripe.findRefund(referenceOf(submission), options)).toMatchObject({
      kind: 'found',
      value: { id: 're_2' },
    });
    expect(seen.map(({ path }) => path)).toEqual([
      '/v1/refunds?charge=ch_1&limit=100',
      '/v1/refunds?charge=ch_1&limit=100&starting_after=re_1',
    ]);
  });

  test('a list that does not end is not taken for an answer', async () => {
    const { url } = await serve((_, response) =>
      json(response, 200, { object: 'list', data: [refundJson()], has_more: true }),
    );
    const stripe = connect('stripe', stripeBench.credentials, url);
    expect(await stripe.findRefund(referenceOf(submission), options)).toMatchObject({ kind: 'unavailable' });
  });

  test.each([
    ['as an object', { object: 'charge', ...chargeJson() }, 'found'],
    ['as an id', 'ch_1', 'found'],
    ['not at all', null, 'not-found'],
  ])('a payment intent is read with its charge given %s', async (_, latest, kind) => {
    const { url } = await serve((call, response) =>
      json(
        response,
        200,
        call.path.startsWith('/v1/charges/ch_1')
          ? chargeJson()
          : { object: 'payment_intent', latest_charge: latest },
      ),
    );
    const answer = await connect('stripe', stripeBench.credentials, url).getTransaction('pi_1', options);
    expect(answer).toMatchObject(
      kind === 'found' ? { kind, value: { id: 'pi_1', amount: 5_000n } } : { kind },
    );
  });

  test.each([
    ['and Stripe lists the rest as a refund', [refundJson({ amount: 2_000, status: 'succeeded' })], 5_000n],
    ['and Stripe lists no refund', [], 3_000n],
  ])('of a payment captured in part only that part counts %s', async (_, data, amount) => {
    const charge = chargeJson({ amount_captured: 3_000, amount_refunded: 2_000 });
    const { url } = await serve((call, response) =>
      json(
        response,
        200,
        call.path.startsWith('/v1/charges') ? charge : { object: 'list', data, has_more: false },
      ),
    );
    expect(
      await connect('stripe', stripeBench.credentials, url).getTransaction('ch_1', options),
    ).toMatchObject({
      value: { amount },
    });
  });
});

describe('Braintree on the wire', () => {
  const submission = submissionFor('sale1');
  const answerWrites = (write: (response: ServerResponse) => void, sale: string = transactionXml({})) =>
    serve((call, response) => (call.method === 'GET' ? xml(response, 200, sale) : write(response)));

  test('a refund names the amount in decimals and our refund, and a key only where keys are allowed', async () => {
    const { url, seen } = await answerWrites((response) => xml(response, 201, creditXml()));
    for (const bench of benches.slice(1)) {
      await connect('braintree', bench.credentials, url).createRefund(submission, options);
    }
    const refund = { amount: '15.00', order_id: submission.refundId };
    const posts = seen.filter(({ method }) => method === 'POST');
    expect(posts.map(({ path }) => path)).toEqual(
      Array(2).fill('/merchants/merchant/transactions/sale1/refund'),
    );
    expect(posts.map(({ body }) => JSON.parse(body))).toEqual([
      { transaction: refund },
      { transaction: { ...refund, api_request_key: submission.idempotencyKey } },
    ]);
  });

  test.each([
    ['another amount', creditXml({ amount: '15.01' }), 'mismatched'],
    ['another currency', creditXml({ 'currency-iso-code': 'EUR' }), 'mismatched'],
    ['a refund of another payment', creditXml({ 'refunded-transaction-id': 'sale2' }), 'unknown'],
    ['a payment', transactionXml({}), 'unknown'],
    ['an amount that is none', creditXml({ amount: 'many' }), 'unknown'],
    ['a currency nobody knows', creditXml({ 'currency-iso-code': 'ZZZ' }), 'unknown'],
    ['something else', '<unexpected/>', 'unknown'],
    ['blanks', '  ', 'unknown'],
    ['nothing', '', 'unknown'],
    ['broken XML', '<transaction><id>', 'unknown'],
  ])('a submission answered with %s is not accepted', async (_, reply, kind) => {
    const { url } = await answerWrites((response) => xml(response, 201, reply));
    const answer = await connect('braintree', braintreeBench.credentials, url).createRefund(
      submission,
      options,
    );
    expect(answer).toMatchObject(kind === 'unknown' ? { kind, answered: true } : { kind });
  });

  test('a page in HTML is unknown', async () => {
    const { url } = await answerWrites((response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<html></html>');
    });
    const braintree = connect('braintree', braintreeBench.credentials, url);
    expect(await braintree.createRefund(submission, options)).toMatchObject({ kind: 'unknown' });
  });

  test.each([
    ['91506', 'unavailable', 'unsettled'],
    ['91574', 'unavailable', 'unsettled'],
    ['91512', 'rejected', 'already_refunded'],
    ['91521', 'rejected', 'amount_too_large'],
    ['91505', 'rejected', '91505'],
    ['915231', 'misconfigured', '915231'],
    ['915233', 'unknown', '915233'],
  ])('a refund refused with %s is %s', async (code, kind, failureCode) => {
    const { url } = await answerWrites((response) =>
      xml(
        response,
        422,
        `<api-error-response><errors><errors type="array"/><transaction><errors type="array"><error><code>${code}</code>` +
          '<attribute type="symbol">base</attribute><message>No.</message></error></errors></transaction></errors>' +
          '<message>No.</message></api-error-response>',
      ),
    );
    const answer = await connect('braintree', braintreeBench.credentials, url).createRefund(
      submission,
      options,
    );
    expect(answer).toMatchObject({ kind, failure: { code: failureCode } });
  });

  test('a void that comes too late is unavailable, and the next attempt refunds', async () => {
    const { url, seen } = await answerWrites(
      (response) =>
        xml(
          response,
          422,
          '<api-error-response><errors><transaction><errors type="array"><error><code>91504</code><attribute>base' +
            '</attribute><message>Too late.</message></error></errors></transaction></errors><message>Too late.</message></api-error-response>',
        ),
      transactionXml({ status: 'authorized' }),
    );
    const braintree = connect('braintree', braintreeBench.credentials, url);
    expect(await braintree.createRefund({ ...submission, amount: 5_000n }, options)).toMatchObject({
      kind: 'unavailable',
    });
    expect(seen.map(({ method }) => method)).toEqual(['GET', 'PUT']);
  });

  test('a listed refund that cannot be found does not make the payment unknown', async () => {
    const { url } = await serve((call, response) =>
      call.path.endsWith('/sale1')
        ? xml(response, 200, transactionXml({}, ['credit1']))
        : xml(response, 404, ''),
    );
    const braintree = connect('braintree', braintreeBench.credentials, url);
    expect(await braintree.getTransaction('sale1', options)).toMatchObject({ kind: 'unavailable' });
  });

  test('a host whose every address refuses the connection is unavailable', async () => {
    const { url, close } = await scriptedServer(() => undefined);
    await close();
    const braintree = connect('braintree', braintreeBench.credentials, url.replace('127.0.0.1', 'localhost'));
    expect(await braintree.createRefund(submission, options)).toMatchObject({ kind: 'unavailable' });
  });
});
