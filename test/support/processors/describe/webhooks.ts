import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { WebhookRequest } from '#shared/processors/contract/processor.ts';
import type { ProcessorVariant } from '../processor-variants.ts';
import { requestOf, type SignedWebhook } from '../signed-webhooks.ts';

/** What makes a webhook genuine, and what is read from it. */
export function describeWebhooks({ title, webhooks, connectAccount }: ProcessorVariant): void {
  describe(`webhooks of ${title}`, () => {
    const { about, reported, event: expected } = webhooks;
    const verify = (webhook: SignedWebhook) => connectAccount().verifyWebhook(requestOf(webhook));
    const verified = async (webhook: SignedWebhook) => {
      const verdict = await verify(webhook);
      if (verdict.kind !== 'verified') throw new Error(verdict.reason);
      return verdict.event;
    };

    const genuine = () => about(reported);

    test('read our refund id, the refund at the processor, the payment and the event id', async () => {
      const webhook = genuine();
      const event = await verified(webhook);
      expect(event).toMatchObject({
        externalEventId: expect.stringMatching(expected.id),
        type: expected.type,
        environment: expected.environment,
        subject: {
          refundId: reported.refundId,
          externalRefundId: reported.externalRefundId,
          transactionIds: expected.transactionIds,
        },
      });
      expect(Math.abs(Date.now() - event.occurredAt.getTime())).toBeLessThan(60_000);
      expect(await verified(webhook)).toEqual(event);
    });

    test('have no id of ours for a refund made elsewhere, nor one that is not in our format', async () => {
      for (const foreign of [null, 'ref_', 'ref_../x', `ref_${'x'.repeat(500)}`, 'order_1', 'REF_1']) {
        const { subject } = await verified(about({ ...reported, refundId: foreign }));
        const named = { refundId: null, externalRefundId: reported.externalRefundId };
        expect(subject, String(foreign)).toMatchObject(named);
      }
    });

    test.each([
      ['an empty body', (request: WebhookRequest) => ({ ...request, body: Buffer.alloc(0) })],
      ['one byte more', ({ body, headers }) => ({ headers, body: Buffer.concat([body, Buffer.from('x')]) })],
      ['one byte less', ({ body, headers }) => ({ headers, body: body.subarray(0, -2) })],
      ['bytes that are not UTF-8', (request) => ({ ...request, body: Buffer.from([0xff, 0xfe, 0x00]) })],
      ['a compressed body', ({ body, headers }) => ({ headers, body: gzipSync(body) })],
      ['a NUL', ({ body, headers }) => ({ headers, body: Buffer.concat([Buffer.from([0]), body]) })],
    ] satisfies [string, (request: WebhookRequest) => WebhookRequest][])(
      '%s is not verified, and never an exception',
      async (_title, spoil) => {
        const verdict = await connectAccount().verifyWebhook(spoil(requestOf(genuine())));
        expect(verdict).toMatchObject({ kind: 'not-verified', reason: expect.stringMatching(/\w/) });
      },
    );

    test('quote nothing of the request in the reason', async () => {
      const { body, headers } = genuine();
      expect(JSON.stringify(await verify({ headers, body: `${body}&marker{` }))).not.toContain('marker');
    });

    test('are not verified when signed for another account', async () => {
      const other = about(reported, { environment: 'live' });
      expect(await verify(other)).toMatchObject({ kind: 'not-verified' });
    });
  });
}
