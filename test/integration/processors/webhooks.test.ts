import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { newId } from '#shared/platform/ids.ts';
import type { Processor, WebhookRequest, WebhookVerdict } from '#shared/processors/contract/processor.ts';
import { type ProcessorName, sandboxCredentials } from '../../sandbox/processors.ts';
import { connect } from '../../support/processors/processor-variants.ts';
import {
  braintreeForm,
  braintreeNotification,
  type SignedWebhook,
  signBraintree,
  signStripe,
  stripeEvent,
} from '../../support/processors/signed-webhooks.ts';

const nowhere = 'http://127.0.0.1:9';
const refundId = newId('ref');
const reported = {
  stripe: { externalRefundId: 're_1', refundId, transactionId: 'ch_1' },
  braintree: { externalRefundId: 'credit1', refundId, transactionId: 'sale1' },
};

function processorFor(name: ProcessorName, changes: Record<string, unknown> = {}): Processor {
  const { apiBase: _, ...credentials } = sandboxCredentials('test', nowhere)[name];
  return connect(name, { ...credentials, ...changes }, nowhere);
}

function requestOf({ body, headers }: SignedWebhook): WebhookRequest {
  return { body: Buffer.from(body), headers };
}

function verify(name: ProcessorName, webhook: SignedWebhook): Promise<WebhookVerdict> {
  return processorFor(name).verifyWebhook(requestOf(webhook));
}

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

describe('webhooks of Stripe', () => {
  const body = JSON.stringify(stripeEvent(reported.stripe));
  const now = Math.floor(Date.now() / 1000);

  test('are never verified without a signing secret', async () => {
    const { secretKey } = sandboxCredentials('test', nowhere).stripe;
    const without = connect('stripe', { secretKey }, nowhere);
    for (const secret of ['whsec_test_sandbox', 'undefined', 'null', secretKey]) {
      const verdict = await without.verifyWebhook(requestOf(signStripe(body, { secret })));
      expect(verdict).toEqual({ kind: 'not-verified', reason: 'the account has no webhookSecret' });
    }
  });

  test('are too old 300 seconds after they were signed', async () => {
    expect(await verify('stripe', signStripe(body, { timestamp: now - 290 }))).toMatchObject({
      kind: 'verified',
    });
    const old = await verify('stripe', signStripe(body, { timestamp: now - 302 }));
    expect(old).toEqual({ kind: 'not-verified', reason: 'Timestamp outside the tolerance zone' });
  });

  test('are refused when they were signed more than 300 seconds in the future', async () => {
    expect(await verify('stripe', signStripe(body, { timestamp: now + 290 }))).toMatchObject({
      kind: 'verified',
    });
    const early = await verify('stripe', signStripe(body, { timestamp: now + 310 }));
    expect(early).toEqual({ kind: 'not-verified', reason: 'it was signed in the future' });
  });

  test('are verified with either signature while a secret is rotated', async () => {
    const { headers } = signStripe(body);
    const [time, signature] = (headers['stripe-signature'] ?? '').split(',');
    const rotating = { ...headers, 'stripe-signature': `${time},v1=${'0'.repeat(64)},${signature}` };
    expect(await verify('stripe', { body, headers: rotating })).toMatchObject({ kind: 'verified' });
  });

  test.each([
    ['no header', undefined],
    ['an empty header', ''],
    ['garbage', 't=,v1='],
    ['an array', [signStripe(body).headers['stripe-signature'] ?? '']],
    ['another scheme', (signStripe(body).headers['stripe-signature'] ?? '').replace('v1=', 'v0=')],
    ['another time', (signStripe(body).headers['stripe-signature'] ?? '').replace(/^t=\d+/, `t=${now + 5}`)],
  ])('%s is not verified', async (_title, header) => {
    const request = { body: Buffer.from(body), headers: { 'stripe-signature': header } };
    expect(await processorFor('stripe').verifyWebhook(request)).toMatchObject({ kind: 'not-verified' });
  });

  test.each([
    ['no JSON', 'not json'],
    ['an empty object', '{}'],
    ['null', 'null'],
    ['a list', '[]'],
    ['a thin event', JSON.stringify({ id: 'evt_1', object: 'v2.core.event', type: 'v1.refund.updated' })],
    ['a refund without an id', JSON.stringify(stripeEvent({ ...reported.stripe, externalRefundId: '' }))],
    ['an id that is none', JSON.stringify(stripeEvent(reported.stripe, { id: 'evt_\u0000' }))],
    ['a type that is none', JSON.stringify(stripeEvent(reported.stripe, { type: 'x'.repeat(101) }))],
    ['no refund', JSON.stringify({ ...stripeEvent(reported.stripe), data: {} })],
    ['JSON of 10 000 levels', `${'['.repeat(10_000)}${']'.repeat(10_000)}`],
    ['no mode', JSON.stringify(stripeEvent(reported.stripe, { livemode: null }))],
    ['a time too far in the future', JSON.stringify(stripeEvent(reported.stripe, { created: 9e15 }))],
  ])('%s is not verified, although its signature is right', async (_title, text) => {
    expect(await verify('stripe', signStripe(text))).toEqual({
      kind: 'not-verified',
      reason: 'the body is not an event',
    });
  });

  test('ignore fields that another API version leaves out or expands', async () => {
    const refund = { id: 're_1', object: 'refund', charge: { id: 'ch_1' }, metadata: null };
    const event = stripeEvent(reported.stripe, { data: { object: refund } });
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
  const xml = braintreeNotification(reported.braintree);
  const genuine = signBraintree(xml);

  test('have one id with and without the line break at the end', async () => {
    const payload = new URLSearchParams(genuine.body).get('bt_payload') ?? '';
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
    ['an empty document', ''],
    ['another document', '<transaction><id>credit1</id></transaction>'],
    ['no subject', '<notification><kind>refund_failed</kind></notification>'],
    ['no time', xml.replace(/<timestamp.*timestamp>/, '')],
    ['no kind', xml.replace(/<kind>.*<\/kind>/, '')],
    ['a refund without an id', xml.replace(/<id>.*<\/id>/, '')],
    ['an id that is none', xml.replace('credit1', '../x')],
    ['XML that does not end', xml.slice(0, -20)],
  ])('%s is not verified, although its signature is right', async (_title, text) => {
    expect(await verify('braintree', signBraintree(text))).toMatchObject({ kind: 'not-verified' });
  });

  test.each([
    ['no signature', withField(genuine, 'bt_signature', '')],
    ['another key', withField(genuine, 'bt_signature', `other|${'0'.repeat(40)}`)],
    ['a signature of nothing', withField(genuine, 'bt_signature', 'test_public|')],
    ['a signature without a key', withField(genuine, 'bt_signature', '0'.repeat(40))],
    ['no payload', withField(genuine, 'bt_payload', '')],
    ['an illegal character', withField(genuine, 'bt_payload', 'a b')],
    ['a second payload', { ...genuine, body: `${genuine.body}&bt_payload=x` }],
    ['a second signature', { ...genuine, body: `${genuine.body}&bt_signature=x` }],
    ['JSON', { ...genuine, body: JSON.stringify(Object.fromEntries(new URLSearchParams(genuine.body))) }],
    [
      'the private key as it is, instead of its digest',
      withField(
        genuine,
        'bt_signature',
        `test_public|${createHmac('sha1', 'private')
          .update(new URLSearchParams(genuine.body).get('bt_payload') ?? '')
          .digest('hex')}`,
      ),
    ],
  ])('%s is not verified', async (_title, webhook) => {
    expect(await verify('braintree', webhook)).toMatchObject({ kind: 'not-verified' });
  });

  test('answer a challenge as the SDK does, and nothing else', () => {
    const processor = processorFor('braintree');
    const challenge = '0123456789abcdef0123';
    const [key, signature] = (processor.answerChallenge(challenge) ?? '').split('|');
    expect([key, signature]).toEqual(['test_public', expect.stringMatching(/^[0-9a-f]{40}$/)]);
    for (const wrong of ['', 'abc', 'A'.repeat(20), `${challenge}\n`, 'g'.repeat(24), 'a'.repeat(33)])
      expect(processor.answerChallenge(wrong), wrong).toBeNull();
  });

  test('cannot be forged with the answer to a challenge', async () => {
    const processor = processorFor('braintree');
    for (const challenge of ['a'.repeat(20), '0123456789abcdef01234567', 'f0'.repeat(16)]) {
      const form = new URLSearchParams({
        bt_signature: processor.answerChallenge(challenge) ?? '',
        bt_payload: challenge,
      });
      const verdict = await processor.verifyWebhook({ body: Buffer.from(form.toString()), headers: {} });
      expect(verdict).toEqual({ kind: 'not-verified', reason: 'the payload is not a notification' });
    }
    expect(braintreeForm('a'.repeat(20)).body).toContain(
      encodeURIComponent(processor.answerChallenge('a'.repeat(20)) ?? ''),
    );
  });
});
