import { describe, expect, test } from 'vitest';
import { chargeJson, refundJson } from '../../support/processors/processor-replies.ts';
import { connect, stripeCredentials } from '../../support/processors/processor-variants.ts';
import { json, useScriptedServers } from '../../support/processors/scripted-server.ts';
import { submissionFor } from '../../support/refunds/refund-records.ts';

const options = { timeoutMs: 5_000 };

const serve = useScriptedServers();

describe('Stripe on the wire', () => {
  const submission = submissionFor('ch_1', { reason: 'duplicate_charge' });

  test('sends the payment, amount, our refund id and the key in one request', async () => {
    const { url, seen } = await serve((_, response) => json(response, 200, refundJson()));
    const stripe = connect('stripe', stripeCredentials, url);
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

  const replied = (reply: unknown) => ({ body: JSON.stringify(reply), status: 200 });
  const unreadable = { kind: 'unknown', replied: false };

  test.each<[string, { status: number; body: string }, object]>([
    ['another amount', replied(refundJson({ amount: 1_499 })), { kind: 'mismatched' }],
    ['another currency', replied(refundJson({ currency: 'eur' })), { kind: 'mismatched' }],
    ['no refund at all', replied({ id: 're_1' }), { kind: 'unknown' }],
    ['a payment', replied(chargeJson()), { kind: 'unknown' }],
    ['a refund without an amount', replied(refundJson({ amount: null })), { kind: 'unknown' }],
    ['an unknown currency', replied(refundJson({ currency: 'zzz' })), { kind: 'unknown' }],
    ['null', replied(null), { kind: 'unknown' }],
    ['a status that is no text', replied(refundJson({ status: 'x\ud800' })), { kind: 'unknown' }],
    ['an id with a NUL', replied(refundJson({ id: 're_a\0b' })), { kind: 'unknown' }],
    ['an id that fits no index', replied(refundJson({ id: `re_${'a'.repeat(9_000)}` })), { kind: 'unknown' }],
    [
      'the refund of another submission',
      replied(refundJson({ metadata: { refund_id: 'ref_01h455vb4pex5vsknk084sn02q' } })),
      { kind: 'unknown' },
    ],
    [
      'a refund under the status of a redirect',
      { ...replied(refundJson()), status: 307 },
      { kind: 'unknown' },
    ],
    [
      'a refund under the status of a failure',
      { ...replied(refundJson()), status: 500 },
      { kind: 'unknown' },
    ],
    [
      'more than any answer holds',
      replied(refundJson({ description: 'x'.repeat(9_000_000) })),
      { kind: 'unknown' },
    ],
    ['a broken body', { status: 200, body: '{"object":"ref' }, unreadable],
    ['a page in HTML', { status: 200, body: '<html></html>' }, unreadable],
    ['a gateway in HTML', { status: 502, body: '<html></html>' }, unreadable],
    ['nothing', { status: 200, body: '' }, unreadable],
    ['a redirect', { status: 307, body: '' }, unreadable],
  ])(
    'does not accept a submission with %s, and does not repeat it',
    async (_, { status, body }, expected) => {
      const { url, seen } = await serve((_seen, response) => {
        response.writeHead(status, { 'content-type': 'application/json', location: '/v1/elsewhere' });
        response.end(body);
      });
      const answer = await connect('stripe', stripeCredentials, url).createRefund(submission, options);
      expect(answer).toMatchObject(expected);
      expect(seen).toHaveLength(1);
    },
  );

  test('classifies a protocol switch as unknown at once', async () => {
    const { url } = await serve((_, response) => {
      response.socket?.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
    });
    const stripe = connect('stripe', stripeCredentials, url);
    expect(await stripe.createRefund(submission, options)).toMatchObject({
      kind: 'unknown',
      failure: { code: 'connection_error' },
    });
  });

  test.each([
    ['is cut within an emoji', { code: 'declined', message: 'a'.repeat(498) + '😀'.repeat(20) }],
    ['has no texts', { code: { a: 1 }, message: { b: 2 } }],
  ])('can store a refusal whose message %s', async (_, error) => {
    const { url } = await serve((_seen, response) =>
      json(response, 400, { error: { type: 'invalid_request_error', ...error } }),
    );
    const answer = await connect('stripe', stripeCredentials, url).createRefund(submission, options);
    if (answer.kind !== 'rejected') throw new Error(answer.kind);
    expect(`${answer.failure.code}${answer.failure.message}`).not.toMatch(/\p{Surrogate}/u);
  });

  test('classifies a connection that was never made as unavailable', async () => {
    // An address that is reserved for documentation, so that nothing answers there.
    const stripe = connect('stripe', stripeCredentials, 'http://192.0.2.1:9');
    expect(await stripe.createRefund(submission, { timeoutMs: 300 })).toMatchObject({ kind: 'unavailable' });
  });

  test('reads all pages of a list of refunds', async () => {
    const { url, seen } = await serve((call, response) => {
      const after = new URL(call.path, 'http://stripe').searchParams.get('starting_after');
      const data = [
        refundJson(after === null ? {} : { id: 're_2', metadata: { refund_id: submission.refundId } }),
      ];
      json(response, 200, { object: 'list', data, has_more: after === null });
    });
    const stripe = connect('stripe', stripeCredentials, url);
    expect(await stripe.findRefund(submission, options)).toMatchObject({
      kind: 'found',
      value: { id: 're_2' },
    });
    expect(seen.map(({ path }) => path)).toEqual([
      '/v1/refunds?charge=ch_1&limit=100',
      '/v1/refunds?charge=ch_1&limit=100&starting_after=re_1',
    ]);
  });

  test('fails for a list of refunds that does not end', async () => {
    const { url } = await serve((_, response) =>
      json(response, 200, { object: 'list', data: [refundJson()], has_more: true }),
    );
    const stripe = connect('stripe', stripeCredentials, url);
    expect(await stripe.findRefund(submission, options)).toMatchObject({ kind: 'unavailable' });
  });

  test.each([
    ['that succeeded', {}, ['pi_1', 'ch_1'], ['pi_1', 'ch_1']],
    ['whose intent is an object', { payment_intent: { id: 'pi_1' } }, ['pi_1', 'ch_1'], ['pi_1', 'ch_1']],
    ['without an intent', { payment_intent: null }, ['ch_1'], ['ch_1']],
    // The customer may pay the same intent with another charge.
    ['that failed', { status: 'failed' }, ['ch_1'], ['pi_1']],
  ])('tells the ids of a charge %s, however it was read', async (_what, charge, byCharge, byIntent) => {
    const latest: unknown[] = [chargeJson(charge), 'ch_1'];
    for (const latest_charge of latest) {
      const { url } = await serve(({ path }, response) =>
        json(
          response,
          200,
          path.startsWith('/v1/charges') ? chargeJson(charge) : { object: 'payment_intent', latest_charge },
        ),
      );
      const stripe = connect('stripe', stripeCredentials, url);
      const value = { amount: 5_000n };
      expect(await stripe.getPayment('ch_1', options)).toMatchObject({
        value: { ...value, transactionIds: byCharge },
      });
      expect(await stripe.getPayment('pi_1', options)).toMatchObject({
        value: { ...value, transactionIds: byIntent },
      });
    }
  });

  test('does not find a payment intent without a charge', async () => {
    const { url } = await serve((_seen, response) =>
      json(response, 200, { object: 'payment_intent', latest_charge: null }),
    );
    const stripe = connect('stripe', stripeCredentials, url);
    expect(await stripe.getPayment('pi_1', options)).toMatchObject({ kind: 'not-found' });
  });

  test.each([
    ['is still pending', { status: 'pending' }, null],
    ['failed', { status: 'failed', captured: false, amount_captured: 0 }, 'charge_failed'],
    ['was never captured', { captured: false, amount_captured: 0 }, 'charge_uncaptured'],
  ])('reads whether a payment that %s can be refunded', async (_, changes, code) => {
    const { url, seen } = await serve((_seen, response) => json(response, 200, chargeJson(changes)));
    expect(await connect('stripe', stripeCredentials, url).getPayment('ch_1', options)).toMatchObject({
      value: { unrefundable: code === null ? null : { code } },
    });
    expect(seen).toHaveLength(1);
  });

  const dispute = { status: 'needs_response', is_charge_refundable: false };

  test.each([
    ['a chargeback', [dispute], 'charge_disputed'],
    ['a chargeback that was lost', [{ ...dispute, status: 'lost' }], 'charge_disputed'],
    ['a chargeback that was won', [{ ...dispute, status: 'won' }], null],
    ['an inquiry', [{ status: 'warning_needs_response', is_charge_refundable: true }], null],
    ['a chargeback besides another dispute', [{ ...dispute, status: 'won' }, dispute], 'charge_disputed'],
  ])('reads from its dispute whether a payment can be refunded: %s', async (_, data, code) => {
    const { url, seen } = await serve(({ path }, response) =>
      json(
        response,
        200,
        path.startsWith('/v1/charges')
          ? chargeJson({ disputed: true })
          : { object: 'list', data, has_more: false },
      ),
    );
    expect(await connect('stripe', stripeCredentials, url).getPayment('ch_1', options)).toMatchObject({
      value: { unrefundable: code === null ? null : { code } },
    });
    expect(seen.map(({ path }) => path)).toEqual(['/v1/charges/ch_1', '/v1/disputes?charge=ch_1&limit=100']);
  });

  test.each([
    [
      'a key that may not read disputes leaves the decision to Stripe',
      403,
      { kind: 'found', value: { unrefundable: null } },
    ],
    ['a payment whose disputes cannot be read now is unavailable', 500, { kind: 'unavailable' }],
  ])('%s', async (_, status, expected) => {
    const { url } = await serve(({ path }, response) =>
      path.startsWith('/v1/charges')
        ? json(response, 200, chargeJson({ disputed: true }))
        : json(response, status, { error: { type: 'invalid_request_error', message: 'No.' } }),
    );
    expect(await connect('stripe', stripeCredentials, url).getPayment('ch_1', options)).toMatchObject(
      expected,
    );
  });

  /** A refund that succeeded, named by its amount. */
  const refundOf = (amount: number, changes: object = {}) =>
    refundJson({ id: `re_${amount}`, amount, status: 'succeeded', ...changes });
  const ours = { metadata: { refund_id: submission.refundId } };

  test.each<[string, object, unknown[], { amount: bigint; refunds: string[] }]>([
    [
      'in part',
      { amount_captured: 3_000, amount_refunded: 1_000 },
      [refundOf(1_000)],
      { amount: 3_000n, refunds: ['re_1000'] },
    ],
    [
      'in part, its rest released by a refund',
      { amount_captured: 3_000, amount_refunded: 3_000 },
      [refundOf(1_000), refundOf(2_000)],
      { amount: 3_000n, refunds: ['re_1000'] },
    ],
    [
      'in part, its rest released by a refund, and refunded in full',
      { amount_captured: 3_000, amount_refunded: 5_000, refunded: true },
      [refundOf(3_000), refundOf(2_000)],
      { amount: 3_000n, refunds: ['re_3000'] },
    ],
    [
      'in half and refunded in full elsewhere',
      { amount_captured: 2_500, amount_refunded: 2_500, refunded: true },
      [refundOf(2_500)],
      { amount: 2_500n, refunds: ['re_2500'] },
    ],
    [
      'in half and refunded by us, which it does not yet call refunded',
      { amount_captured: 2_500, amount_refunded: 2_500 },
      [refundOf(2_500, ours)],
      { amount: 2_500n, refunds: ['re_2500'] },
    ],
    [
      'in part, a refund of as much as its rest having failed',
      { amount_captured: 3_000, amount_refunded: 1_000 },
      [refundOf(1_000), refundOf(2_000, { status: 'failed' })],
      { amount: 3_000n, refunds: ['re_1000', 're_2000'] },
    ],
    [
      'twice, with more to come',
      { captured: false, amount_captured: 3_000, amount_refunded: 2_000 },
      [refundOf(2_000)],
      { amount: 3_000n, refunds: ['re_2000'] },
    ],
    [
      'beyond its authorization',
      { amount_captured: 6_000, amount_refunded: 1_000 },
      [refundOf(1_000)],
      { amount: 6_000n, refunds: ['re_1000'] },
    ],
    ['without Stripe saying how much', { amount_captured: null }, [], { amount: 5_000n, refunds: [] }],
  ])('reads the captured amount of a payment captured %s', async (_, changes, data, expected) => {
    const { url } = await serve((call, response) =>
      json(
        response,
        200,
        call.path.startsWith('/v1/charges') ? chargeJson(changes) : { object: 'list', data, has_more: false },
      ),
    );
    const answer = await connect('stripe', stripeCredentials, url).getPayment('ch_1', options);
    if (answer.kind !== 'found') throw new Error(answer.kind);
    const { amount, refunds, unrefundable } = answer.value;
    expect({ amount, refunds: refunds.map(({ id }) => id) }).toEqual(expected);
    expect(unrefundable).toBeNull();
  });
});
