import { createHmac } from 'node:crypto';
import braintree from 'braintree';
import { describe, expect, test } from 'vitest';
import { newId } from '#shared/platform/ids.ts';
import { type ProcessorName, sandboxProcessors } from '../../sandbox/processors.ts';
import { connect, connectForWebhooks } from '../../support/processors/processor-variants.ts';
import {
  braintreeNotification,
  requestOf,
  type SignedWebhook,
  signBraintree,
  signStripe,
  stripeEvent,
} from '../../support/processors/signed-webhooks.ts';

const reported = { externalRefundId: 're_1', refundId: newId('ref'), transactionId: 'ch_1' };

const verify = (name: ProcessorName, webhook: SignedWebhook) =>
  connectForWebhooks(sandboxProcessors[name]).verifyWebhook(requestOf(webhook));

async function verified(name: ProcessorName, webhook: SignedWebhook) {
  const verdict = await verify(name, webhook);
  if (verdict.kind !== 'verified') throw new Error(verdict.reason);
  return verdict.event;
}

function withField(webhook: SignedWebhook, name: string, value: string): SignedWebhook {
  const form = new URLSearchParams(webhook.body);
  form.set(name, value);
  return { ...webhook, body: form.toString() };
}

const disputed = {
  ...{ refundId: null, externalRefundId: null, processorStatus: null, refundedAmount: null },
};

describe('webhooks of Stripe', () => {
  test.each([
    ['created', { status: 'needs_response', is_charge_refundable: false }, true],
    ['updated', { status: 'under_review', is_charge_refundable: false }, true],
    ['funds_withdrawn', { status: 'lost', is_charge_refundable: false }, true],
    ['created', { status: 'warning_needs_response', is_charge_refundable: true }, undefined],
    ['closed', { status: 'won', is_charge_refundable: false }, undefined],
  ])(
    'charge.dispute.%s names the payment, and says whether it was charged back: %o',
    async (end, state, is) => {
      const dispute = { id: 'dp_1', object: 'dispute', charge: 'ch_1', payment_intent: 'pi_1', ...state };
      const event = stripeEvent(reported, { type: `charge.dispute.${end}`, data: { object: dispute } });
      const { subject } = await verified('stripe', signStripe(JSON.stringify(event)));
      expect(subject).toEqual({
        ...disputed,
        transactionIds: ['ch_1', 'pi_1'],
        ...(is && { isChargedBack: is }),
      });
    },
  );
  const body = JSON.stringify(stripeEvent(reported));

  test('are never verified without a signing secret', async () => {
    const { secretKey } = sandboxProcessors.stripe.credentials('test');
    const without = connect('stripe', { secretKey }, 'http://127.0.0.1:9');
    for (const secret of ['whsec_test_sandbox', 'undefined', 'null', secretKey]) {
      const verdict = await without.verifyWebhook(requestOf(signStripe(body, { secret })));
      expect(verdict).toEqual({
        ...{ kind: 'not-verified', reason: 'the account has no webhookSecret' },
        isSigned: true,
      });
    }
  });

  test.each([
    ['webhookSecret', 'whsec_test_sandbox'],
    ['connectWebhookSecret', 'whsec_test_connect_sandbox'],
  ])('tell the connected account that they are about, when signed with the %s', async (_, secret) => {
    const about = async (account?: string) => {
      const event = JSON.stringify(stripeEvent(reported, account === undefined ? {} : { account }));
      return (await verified('stripe', signStripe(event, { secret }))).account;
    };
    expect(await about('acct_seller1')).toBe('acct_seller1');
    expect(await about()).toBeNull();
  });

  test.each([
    ['are too old 300 seconds after they were signed', -290, -302, 'Timestamp outside the tolerance zone'],
    [
      'are refused when they were signed more than 300 seconds in the future',
      290,
      310,
      'it was signed in the future',
    ],
  ])('%s', async (_title, within, beyond, reason) => {
    const signedAt = (seconds: number) =>
      verify('stripe', signStripe(body, { timestamp: Math.floor(Date.now() / 1000) + seconds }));
    expect(await signedAt(within)).toMatchObject({ kind: 'verified' });
    expect(await signedAt(beyond)).toEqual({ kind: 'not-verified', reason, isSigned: true });
  });

  test('are verified with either signature while a secret is rotated', async () => {
    const { headers } = signStripe(body);
    const [time, signature] = (headers['stripe-signature'] ?? '').split(',');
    const rotating = { ...headers, 'stripe-signature': `${time},v1=${'0'.repeat(64)},${signature}` };
    expect(await verify('stripe', { body, headers: rotating })).toMatchObject({ kind: 'verified' });
  });

  const { 'stripe-signature': genuine = '' } = signStripe(body).headers;

  test.each([
    ['no header', undefined],
    ['garbage', 't=,v1='],
    ['an array', [genuine]],
    ['another scheme', genuine.replace('v1=', 'v0=')],
    ['another time', genuine.replace(/^t=\d+/, `t=${Math.floor(Date.now() / 1000) + 5}`)],
  ])('%s is not verified', async (_title, header) => {
    const request = { body: Buffer.from(body), headers: { 'stripe-signature': header } };
    const verdict = await connectForWebhooks(sandboxProcessors.stripe).verifyWebhook(request);
    expect(verdict).toMatchObject({ kind: 'not-verified' });
  });

  test.each([
    ['no JSON', 'not json'],
    ['null', 'null'],
    ['a thin event', JSON.stringify({ id: 'evt_1', object: 'v2.core.event', type: 'v1.refund.updated' })],
    ['a refund without an id', JSON.stringify(stripeEvent({ ...reported, externalRefundId: '' }))],
    ['an id that is none', JSON.stringify(stripeEvent(reported, { id: 'evt_\u0000' }))],
    ['a type that is none', JSON.stringify(stripeEvent(reported, { type: 'x'.repeat(101) }))],
    ['no refund', JSON.stringify({ ...stripeEvent(reported), data: {} })],
    ['JSON of 10 000 levels', `${'['.repeat(10_000)}${']'.repeat(10_000)}`],
    ['no mode', JSON.stringify(stripeEvent(reported, { livemode: null }))],
    ['a time too far in the future', JSON.stringify(stripeEvent(reported, { created: 9e15 }))],
  ])('%s is not verified, although its signature is right', async (_title, text) => {
    expect(await verify('stripe', signStripe(text))).toEqual({
      kind: 'not-verified',
      reason: 'the body is not an event',
      isSigned: false,
    });
  });

  test('ignore fields that another API version leaves out or expands', async () => {
    const refund = { id: 're_1', object: 'refund', charge: { id: 'ch_1' }, metadata: null };
    const event = stripeEvent(reported, { data: { object: refund } });
    expect((await verified('stripe', signStripe(JSON.stringify(event)))).subject).toEqual({
      refundId: null,
      externalRefundId: 're_1',
      processorStatus: 'unknown',
      refundedAmount: null,
      transactionIds: [],
    });
  });
});

describe('webhooks of Braintree', () => {
  const { publicKey, privateKey } = sandboxProcessors.braintree.credentials('test');
  const { webhookTesting } = new braintree.BraintreeGateway({
    ...{ environment: braintree.Environment.Sandbox, merchantId: 'merchant', publicKey, privateKey },
  });

  test.each([
    ['dispute_opened', true],
    ['dispute_disputed', true],
    ['dispute_under_review', true],
    ['dispute_accepted', true],
    ['dispute_auto_accepted', true],
    ['dispute_expired', true],
    ['dispute_lost', true],
    ['dispute_won', undefined],
  ] as const)(
    '%s as the SDK makes it names the sale, and says whether it was charged back',
    async (kind, is) => {
      const sample = await webhookTesting.sampleNotification(kind, 'sale1');
      const form = new URLSearchParams(sample as unknown as Record<string, string>);
      const { subject, type } = await verified('braintree', { headers: {}, body: form.toString() });
      expect(type).toBe(kind);
      expect(subject).toEqual({ ...disputed, transactionIds: ['sale1'], ...(is && { isChargedBack: is }) });
    },
  );

  const xml = braintreeNotification(reported);
  const genuine = signBraintree(xml);

  const payload = new URLSearchParams(genuine.body).get('bt_payload') ?? '';
  const signedByKey = `test_public|${createHmac('sha1', 'private').update(payload).digest('hex')}`;

  test('have one id with and without the line break at the end', async () => {
    const trimmed = await verified('braintree', withField(genuine, 'bt_payload', payload.trimEnd()));
    expect(trimmed).toEqual(await verified('braintree', genuine));
    const other = await verified('braintree', signBraintree(xml.replace('1.00', '2.00')));
    expect(other.externalEventId).not.toBe(trimmed.externalEventId);
  });

  test('name a failed refund by its id alone', async () => {
    const failed = `<notification><timestamp type="datetime">2026-11-20T10:00:00Z</timestamp><kind>refund_failed</kind>
      <subject><transaction><id>credit1</id><amount>1.00</amount><status>processor_declined</status>
      <refunded-transaction-fk>1</refunded-transaction-fk></transaction></subject></notification>`;
    expect(await verified('braintree', signBraintree(failed))).toMatchObject({
      type: 'refund_failed',
      occurredAt: new Date('2026-11-20T10:00:00Z'),
      subject: { refundId: null, externalRefundId: 'credit1', transactionIds: [] },
    });
  });

  test.each([
    ['no XML', 'not xml'],
    ['another document', '<transaction><id>credit1</id></transaction>'],
    ['no time', xml.replace(/<timestamp.*timestamp>/, '')],
    ['no kind', xml.replace(/<kind>.*<\/kind>/, '')],
    ['a refund without an id', xml.replace(/<id>.*<\/id>/, '')],
    ['an id that is none', xml.replace('re_1', '../x')],
    ['XML that does not end', xml.slice(0, -20)],
  ])('%s is not verified, although its signature is right', async (_title, text) => {
    expect(await verify('braintree', signBraintree(text))).toMatchObject({ kind: 'not-verified' });
  });

  test.each([
    ['another key', withField(genuine, 'bt_signature', `other|${'0'.repeat(40)}`)],
    ['a signature of nothing', withField(genuine, 'bt_signature', 'test_public|')],
    ['no payload', withField(genuine, 'bt_payload', '')],
    ['a second payload', { ...genuine, body: `${genuine.body}&bt_payload=x` }],
    ['a second signature', { ...genuine, body: `${genuine.body}&bt_signature=x` }],
    ['JSON', { ...genuine, body: JSON.stringify(Object.fromEntries(new URLSearchParams(genuine.body))) }],
    ['the private key as it is, instead of its digest', withField(genuine, 'bt_signature', signedByKey)],
  ])('%s is not verified', async (_title, webhook) => {
    expect(await verify('braintree', webhook)).toMatchObject({ kind: 'not-verified' });
  });

  test('answer a challenge as the SDK does, and nothing else', async () => {
    const processor = connectForWebhooks(sandboxProcessors.braintree);
    const challenge = '0123456789abcdef0123';
    const answer = processor.answerChallenge(challenge) ?? '';
    expect(answer).toMatch(/^test_public\|[0-9a-f]{40}$/);
    for (const wrong of ['', 'abc', 'A'.repeat(20), `${challenge}\n`, 'g'.repeat(24), 'a'.repeat(33)])
      expect(processor.answerChallenge(wrong), wrong).toBeNull();
    // The answer signs no notification.
    const form = new URLSearchParams({ bt_signature: answer, bt_payload: challenge });
    const verdict = await processor.verifyWebhook({ body: Buffer.from(form.toString()), headers: {} });
    expect(verdict).toMatchObject({ kind: 'not-verified', reason: 'the payload is not a notification' });
  });
});
