import type { ServerResponse } from 'node:http';
import { describe, expect, test, vi } from 'vitest';
import { abilities } from '#shared/processors/contract/processor.ts';
import type { RefundOptions } from '#shared/processors/contract/refund-options.ts';
import { listAll, windowAroundNow } from '../../support/processors/describe/listing.ts';
import { chargeJson, refundJson } from '../../support/processors/processor-replies.ts';
import { connect, options, stripeCredentials } from '../../support/processors/processor-variants.ts';
import { json, type Seen, useScriptedServers } from '../../support/processors/scripted-server.ts';
import { submissionFor } from '../../support/refunds/refund-records.ts';

const serve = useScriptedServers();

/** An adapter whose requests are answered by `answer`, and the requests that it makes. */
async function stripeWith(answer: (seen: Seen, response: ServerResponse) => void) {
  const { url, seen } = await serve(answer);
  return { stripe: connect('stripe', stripeCredentials, url), seen };
}

/** An adapter that gets a charge, and lists of refunds and disputes. */
const withCharge = (charge: object, { refunds = [] as unknown[], disputes = [] as unknown[] } = {}) =>
  stripeWith(({ path }, response) => {
    if (path.startsWith('/v1/charges')) return json(response, 200, chargeJson(charge));
    const data = path.startsWith('/v1/disputes') ? disputes : refunds;
    json(response, 200, { object: 'list', data, has_more: false });
  });

describe('Stripe on the wire', () => {
  const submission = submissionFor('ch_1', { reason: 'duplicate_charge' });

  test('sends the payment, amount, our refund id and the key in one request', async () => {
    const { stripe, seen } = await stripeWith((_, response) => json(response, 200, refundJson()));
    await stripe.createRefund(submission, options);
    await stripe.createRefund({ ...submission, transactionId: 'pi_1', reason: 'fraudulent' }, options);
    const { refundId, organizationId } = submission;
    const name = { 'metadata[refund_id]': refundId, 'metadata[refund_organization]': organizationId };
    const sent = { amount: '1500', ...name };
    expect(
      seen.map(({ method, path, headers, body }) => [
        `${method} ${path} ${headers['idempotency-key']}`,
        Object.fromEntries(new URLSearchParams(body)),
      ]),
    ).toEqual(
      [
        { ...sent, charge: 'ch_1', reason: 'duplicate' },
        { ...sent, payment_intent: 'pi_1', reason: 'requested_by_customer' },
      ].map((parameters) => [`POST /v1/refunds ${submission.idempotencyKey}`, parameters]),
    );
  });

  test.each<[RefundOptions, object]>([
    [{}, {}],
    [{ reverseTransfer: true }, { reverse_transfer: 'true' }],
    [{ reverseTransfer: false }, { reverse_transfer: 'false' }],
    [
      { refundApplicationFee: true, instructionsEmail: 'ada@example.org' },
      { refund_application_fee: 'true', instructions_email: 'ada@example.org' },
    ],
  ])('sends the options %j exactly, and again the same on the next attempt', async (asked, parameters) => {
    const { stripe, seen } = await stripeWith((_, response) => json(response, 200, refundJson()));
    for (let attempt = 0; attempt < 2; attempt += 1)
      await stripe.createRefund({ ...submission, options: asked }, options);
    const usual = ['charge', 'amount', 'reason', 'metadata[refund_id]', 'metadata[refund_organization]'];
    for (const { body } of seen) {
      const sent = [...new URLSearchParams(body)].filter(([name]) => !usual.includes(name));
      expect(Object.fromEntries(sent)).toEqual(parameters);
    }
    expect(seen).toHaveLength(2);
  });

  test.each([
    ['acct_seller1', 'acct_seller1'],
    [null, undefined],
  ])('names the connected account %s in every request of every call', async (connectedAccount, header) => {
    const invoicePayment = { object: 'invoice_payment', payment: { payment_intent: 'pi_1' } };
    const { url, seen } = await serve(({ method, path }, response) => {
      const list = (data: unknown[]) => json(response, 200, { object: 'list', data, has_more: false });
      if (path.startsWith('/v1/checkout'))
        return json(response, 200, { object: 'checkout.session', payment_intent: null, invoice: 'in_1' });
      if (path.startsWith('/v1/invoice_payments')) return list([invoicePayment]);
      if (path.startsWith('/v1/payment_intents'))
        return json(response, 200, { object: 'payment_intent', latest_charge: 'ch_1' });
      if (path.startsWith('/v1/charges'))
        return json(response, 200, chargeJson({ disputed: true, amount_refunded: 1 }));
      if (method === 'GET' && /^\/v1\/(refunds|disputes)\?/.test(path)) return list([]);
      json(response, 200, refundJson());
    });
    const stripe = connect('stripe', stripeCredentials, url, undefined, connectedAccount);
    const named = submissionFor('cs_test_1');
    await stripe.getPayment(named.transactionId, options);
    await stripe.createRefund(named, options);
    await stripe.findRefund(named, options);
    await stripe.getRefund('re_1', named, options);
    await stripe.listRefunds(windowAroundNow(5), options);
    await stripe.cancelRefund('re_1', named, options);
    for (const ability of abilities) if (ability !== 'webhooks') await stripe.probe(ability, options);
    expect(new Set(seen.map(({ headers }) => headers['stripe-account']))).toEqual(new Set([header]));
    const kinds = new Set(seen.map(({ path }) => path.split(/[/?]/)[2]));
    expect([...kinds].toSorted()).toEqual([
      ...['charges', 'checkout', 'disputes', 'invoice_payments', 'payment_intents', 'refunds'],
    ]);
  });

  test('a key that may not read invoices is refused for this name alone', async () => {
    const message =
      "The provided key 'rk_test_1' does not have the required permissions. Having the 'rak_invoice_read' permission would allow this request to continue.";
    const { stripe } = await stripeWith((_, response) =>
      json(response, 403, { error: { type: 'invalid_request_error', message } }),
    );
    const refused = { kind: 'misconfigured', scope: 'object', permission: 'rak_invoice_read' };
    expect(await stripe.getPayment('in_1', options)).toMatchObject(refused);
    expect(await stripe.createRefund(submissionFor('in_1'), options)).toMatchObject(refused);
  });

  test.each([
    ['a session without a payment', 'cs_test_1', { object: 'checkout.session', payment_intent: null }],
    ['an invoice that was not paid', 'in_1', { object: 'list', data: [] }],
    [
      'an invoice that was paid elsewhere',
      'in_1',
      { object: 'list', data: [{ object: 'invoice_payment', payment: { payment_record: 'pr_1' } }] },
    ],
  ])('does not find the payment of %s', async (_, id, reply) => {
    const { stripe, seen } = await stripeWith((_seen, response) => json(response, 200, reply));
    expect(await stripe.getPayment(id, options)).toMatchObject({ kind: 'not-found' });
    expect(await stripe.createRefund(submissionFor(id), options)).toMatchObject({ kind: 'rejected' });
    expect(seen.map(({ method }) => method)).toEqual(['GET', 'GET']);
  });

  const another = { metadata: { refund_id: 'ref_01h455vb4pex5vsknk084sn02q' } };
  const unreadable = { kind: 'unknown' };

  test.each<[string, unknown, status?: number, expected?: object]>([
    ['another amount', refundJson({ amount: 1_499 }), 200, { kind: 'mismatched' }],
    ['a payment', chargeJson()],
    ['a refund without an amount', refundJson({ amount: null })],
    ['an unknown currency', refundJson({ currency: 'zzz' })],
    ['a status that is no text', refundJson({ status: 'x\ud800' })],
    ['an id with a NUL', refundJson({ id: 're_a\0b' })],
    ['an id that fits no index', refundJson({ id: `re_${'a'.repeat(9_000)}` })],
    ['the refund of another submission', refundJson(another)],
    ['a refund under the status of a redirect', refundJson(), 307],
    ['a refund under the status of a failure', refundJson(), 500],
    ['more than any answer holds', refundJson({ description: 'x'.repeat(9_000_000) })],
    ['a broken body', '{"object":"ref', 200, unreadable],
    ['a gateway in HTML', '<html></html>', 502, unreadable],
    ['nothing', '', 200, unreadable],
    ['a redirect', '', 307, unreadable],
  ])(
    'does not accept a submission with %s, and does not repeat it',
    async (_, reply, status = 200, expected = { kind: 'unknown' }) => {
      const { stripe, seen } = await stripeWith((_seen, response) => {
        response.writeHead(status, { 'content-type': 'application/json', location: '/v1/elsewhere' });
        response.end(typeof reply === 'string' ? reply : JSON.stringify(reply));
      });
      expect(await stripe.createRefund(submission, options)).toMatchObject(expected);
      expect(seen).toHaveLength(1);
    },
  );

  test('classifies a protocol switch as unknown at once', async () => {
    const { stripe } = await stripeWith((_, response) => {
      response.socket?.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
    });
    const failure = { code: 'connection_error' };
    expect(await stripe.createRefund(submission, options)).toMatchObject({ kind: 'unknown', failure });
  });

  test.each([
    ['is cut within an emoji', { code: 'declined', message: 'a'.repeat(498) + '😀'.repeat(20) }],
    ['has no texts', { code: { a: 1 }, message: { b: 2 } }],
  ])('can store a refusal whose message %s', async (_, error) => {
    const { stripe } = await stripeWith((_seen, response) =>
      json(response, 400, { error: { type: 'invalid_request_error', ...error } }),
    );
    const answer = await stripe.createRefund(submission, options);
    if (answer.kind !== 'rejected') throw new Error(answer.kind);
    expect(`${answer.failure.code}${answer.failure.message}`).not.toMatch(/\p{Surrogate}/u);
    expect(answer.failure.message.length).toBeLessThan(501);
  });

  test('classifies a connection that was never made as unavailable', async () => {
    // An address that is reserved for documentation, so that nothing answers there.
    const stripe = connect('stripe', stripeCredentials, 'http://192.0.2.1:9');
    expect(await stripe.createRefund(submission, { timeoutMs: 300 })).toMatchObject({ kind: 'unavailable' });
  });

  test('sends nothing once its time has passed while it found the payment', async () => {
    const { stripe, seen } = await stripeWith((_seen, response) => {
      const after = performance.now() + options.timeoutMs;
      vi.spyOn(performance, 'now').mockReturnValue(after);
      json(response, 200, { object: 'checkout.session', payment_intent: 'pi_1', invoice: null });
    });
    await stripe.createRefund({ ...submission, transactionId: 'cs_test_1' }, options);
    vi.restoreAllMocks();
    expect(seen.map(({ method }) => method)).toEqual(['GET']);
  });

  test('lists the refunds beside those in a currency that is not known', async () => {
    const { stripe } = await stripeWith(({ path }, response) => {
      const isFirst = !path.includes('starting_after=re_2');
      const first = [refundJson(), refundJson({ id: 're_2', currency: 'xts' })];
      const data = isFirst ? first : [refundJson({ id: 're_3' })];
      json(response, 200, { object: 'list', data, has_more: isFirst });
    });
    const { refunds } = await listAll(stripe, windowAroundNow(5));
    expect(refunds.map(({ id }) => id)).toEqual(['re_1', 're_3']);
  });

  test('reads all pages of a list of refunds, unless it does not end', async () => {
    const ours = refundJson({ id: 're_2', metadata: { refund_id: submission.refundId } });
    const { stripe, seen } = await stripeWith(({ path }, response) => {
      const isFirst = !path.includes('starting_after');
      json(response, 200, { object: 'list', data: [isFirst ? refundJson() : ours], has_more: isFirst });
    });
    const found = { kind: 'found', value: { id: 're_2' } };
    expect(await stripe.findRefund(submission, options)).toMatchObject(found);
    const list = '/v1/refunds?charge=ch_1&limit=100';
    expect(seen.map(({ path }) => path)).toEqual([list, `${list}&starting_after=re_1`]);

    const { stripe: endless } = await stripeWith((_, response) =>
      json(response, 200, { object: 'list', data: [refundJson()], has_more: true }),
    );
    expect(await endless.findRefund(submission, options)).toMatchObject({ kind: 'unavailable' });
  });

  test.each([
    ['whose intent is an id', {}, ['pi_1', 'ch_1'], ['pi_1', 'ch_1']],
    ['whose intent is an object', { payment_intent: { id: 'pi_1' } }, ['pi_1', 'ch_1'], ['pi_1', 'ch_1']],
    ['without an intent', { payment_intent: null }, ['ch_1'], ['ch_1']],
    // The customer may pay the same intent with another charge.
    ['that failed', { status: 'failed' }, ['ch_1'], ['pi_1']],
  ])('tells the ids of a charge %s, however it was read', async (_what, charge, byCharge, byIntent) => {
    for (const latest_charge of [chargeJson(charge), 'ch_1']) {
      const intent = { object: 'payment_intent', latest_charge };
      const { stripe } = await stripeWith(({ path }, response) =>
        json(response, 200, path.startsWith('/v1/charges') ? chargeJson(charge) : intent),
      );
      for (const [id, transactionIds] of Object.entries({ ch_1: byCharge, pi_1: byIntent })) {
        const value = { amount: 5_000n, transactionIds };
        expect(await stripe.getPayment(id, options)).toMatchObject({ value });
      }
    }
  });

  test('does not find a payment intent without a charge', async () => {
    const { stripe } = await stripeWith((_seen, response) =>
      json(response, 200, { object: 'payment_intent', latest_charge: null }),
    );
    expect(await stripe.getPayment('pi_1', options)).toMatchObject({ kind: 'not-found' });
  });

  const dispute = { status: 'needs_response', is_charge_refundable: false };
  const inquiry = { status: 'warning_needs_response', is_charge_refundable: true };

  test.each<[string, object, unknown[], string | null]>([
    ['is still pending', { status: 'pending' }, [], null],
    ['failed', { status: 'failed', captured: false, amount_captured: 0 }, [], 'charge_failed'],
    ['was never captured', { captured: false, amount_captured: 0 }, [], 'charge_uncaptured'],
    ['was charged back', { disputed: true }, [dispute], 'charge_disputed'],
    ['was charged back for good', { disputed: true }, [{ ...dispute, status: 'lost' }], 'charge_disputed'],
    ['was charged back in vain', { disputed: true }, [{ ...dispute, status: 'won' }], null],
    ['is under inquiry', { disputed: true }, [inquiry], null],
    ['was under inquiry', { disputed: true }, [{ ...dispute, status: 'warning_closed' }], null],
    [
      'was given back before a chargeback',
      { disputed: true },
      [{ status: 'prevented', is_charge_refundable: true }],
      'charge_disputed',
    ],
    ['has several disputes', { disputed: true }, [{ ...dispute, status: 'won' }, dispute], 'charge_disputed'],
  ])('reads whether a payment that %s can be refunded', async (_, charge, disputes, code) => {
    const { stripe, seen } = await withCharge(charge, { disputes });
    const unrefundable = code === null ? null : { code };
    expect(await stripe.getPayment('ch_1', options)).toMatchObject({ value: { unrefundable } });
    const asked = disputes.length === 0 ? [] : ['/v1/disputes?charge=ch_1&limit=100'];
    expect(seen.map(({ path }) => path)).toEqual(['/v1/charges/ch_1', ...asked]);
  });

  test.each([
    [
      'a key that may not read disputes leaves the decision to Stripe',
      403,
      { value: { unrefundable: null } },
    ],
    ['a payment whose disputes cannot be read now is unavailable', 500, { kind: 'unavailable' }],
  ])('%s', async (_, status, expected) => {
    const { stripe } = await stripeWith(({ path }, response) =>
      path.startsWith('/v1/charges')
        ? json(response, 200, chargeJson({ disputed: true }))
        : json(response, status, { error: { type: 'invalid_request_error', message: 'No.' } }),
    );
    expect(await stripe.getPayment('ch_1', options)).toMatchObject(expected);
  });

  /** A refund that succeeded, named by its amount. */
  const refundOf = (amount: number, changes: object = {}) =>
    refundJson({ id: `re_${amount}`, amount, status: 'succeeded', ...changes });
  const ours = { metadata: { refund_id: submission.refundId } };
  const captured = (amount_captured: number | null, amount_refunded: number, more: object = {}) => ({
    ...{ amount_captured, amount_refunded },
    ...more,
  });

  test.each<[string, object, unknown[], bigint, string[]]>([
    ['in part', captured(3_000, 1_000), [refundOf(1_000)], 3_000n, ['re_1000']],
    [
      'in part, its rest released by a refund',
      captured(3_000, 3_000),
      [refundOf(1_000), refundOf(2_000)],
      3_000n,
      ['re_1000'],
    ],
    [
      'in part, its rest released by a refund, and refunded in full',
      captured(3_000, 5_000, { refunded: true }),
      [refundOf(3_000), refundOf(2_000)],
      3_000n,
      ['re_3000'],
    ],
    [
      'in half and refunded in full elsewhere',
      captured(2_500, 2_500, { refunded: true }),
      [refundOf(2_500)],
      2_500n,
      ['re_2500'],
    ],
    [
      'in half and refunded by us, which it does not yet call refunded',
      captured(2_500, 2_500),
      [refundOf(2_500, ours)],
      2_500n,
      ['re_2500'],
    ],
    [
      'in part, a refund of as much as its rest having failed',
      captured(3_000, 1_000),
      [refundOf(1_000), refundOf(2_000, { status: 'failed' })],
      3_000n,
      ['re_1000', 're_2000'],
    ],
    [
      'twice, with more to come',
      captured(3_000, 2_000, { captured: false }),
      [refundOf(2_000)],
      3_000n,
      ['re_2000'],
    ],
    ['beyond its authorization', captured(6_000, 1_000), [refundOf(1_000)], 6_000n, ['re_1000']],
    ['without Stripe saying how much', captured(null, 0), [], 5_000n, []],
  ])('reads the captured amount of a payment captured %s', async (_, charge, refunds, amount, ids) => {
    const { stripe } = await withCharge(charge, { refunds });
    const value = { amount, refunds: ids.map((id) => ({ id })), unrefundable: null };
    expect(await stripe.getPayment('ch_1', options)).toMatchObject({ kind: 'found', value });
  });
});
