import { expect, test } from 'vitest';
import { openNotifications } from '#shared/processors/braintree/client.ts';
import { stripeClient } from '../../sandbox/clients.ts';
import { type ProcessorName, sandboxProcessors, webhookEndpoint } from '../../sandbox/processors.ts';
import { type Seen, useScriptedServers } from '../../support/processors/scripted-server.ts';
import { useSandbox } from '../../support/processors/use-sandbox.ts';
import { waitFor } from '../../support/wait-for.ts';

const { sandbox, control } = useSandbox();
const serve = useScriptedServers();

const kinds = {
  /** What the processor's own SDK reads from a webhook, whose signature it verifies. */
  stripe: (client, { body, headers }) => {
    const { webhookSecret } = sandboxProcessors.stripe.credentials('test');
    const signature = String(headers['stripe-signature']);
    const { type, data } = client.webhooks.constructEvent(body, signature, webhookSecret);
    const { charge, status } = data.object as unknown as Record<string, unknown>;
    return { type, about: charge, status };
  },
  braintree: async (_client, { body }) => {
    const form = new URLSearchParams(body);
    const credentials = { ...sandboxProcessors.braintree.credentials('test'), useApiRequestKey: false };
    const read = await openNotifications({ ...credentials, apiBase: sandbox.url }).parse(
      form.get('bt_signature') ?? '',
      form.get('bt_payload') ?? '',
    );
    const { kind, dispute } = read as {
      kind: string;
      dispute: { status: string; transaction: { id: string } };
    };
    return { type: kind, about: dispute.transaction.id, status: dispute.status };
  },
} satisfies Record<ProcessorName, (client: ReturnType<typeof stripeClient>, seen: Seen) => unknown>;

test.each([
  [
    'stripe',
    ['under_review', 'won'],
    [
      { type: 'charge.dispute.created', status: 'needs_response' },
      { type: 'charge.dispute.updated', status: 'under_review' },
      { type: 'charge.dispute.closed', status: 'won' },
    ],
  ],
  [
    'braintree',
    ['under_review', 'lost'],
    [
      { type: 'dispute_opened', status: 'open' },
      { type: 'dispute_under_review', status: 'under_review' },
      { type: 'dispute_lost', status: 'lost' },
    ],
  ],
] as const)(
  '%s sends signed webhooks as a dispute begins, changes and ends',
  async (processor, steps, expected) => {
    const receiver = await serve((_seen, response) => response.writeHead(204).end());
    const webhooks = [webhookEndpoint(sandboxProcessors[processor], 'test', receiver.url)];
    await control.settings({ webhooks });
    const id = await control.transaction({ processor, amount: 5_000, currency: 'usd' });
    await control.changeTransaction(id, { status: 'disputed' });
    for (const dispute of steps) await control.changeTransaction(id, { dispute });
    await waitFor('the webhooks', () => receiver.seen.length === expected.length);
    const read = await Promise.all(
      receiver.seen.map((seen) => kinds[processor](stripeClient(sandbox.url), seen)),
    );
    // They arrive in any order.
    expect(read).toHaveLength(expected.length);
    for (const event of expected) expect(read).toContainEqual({ ...event, about: id });
  },
);

test('a payment can be refunded again once its dispute is won or was only an inquiry, and not while it may be lost', async () => {
  const stripe = stripeClient(sandbox.url);
  const id = await control.transaction({ processor: 'stripe', amount: 5_000, currency: 'usd' });
  const refund = () =>
    stripe.refunds.create({ charge: id, amount: 100 }).then(
      () => 'accepted',
      (error: { code: string }) => error.code,
    );
  for (const [dispute, answer, isRefundable] of [
    ['warning_needs_response', 'accepted', true],
    ['needs_response', 'charge_disputed', false],
    ['won', 'accepted', true],
  ] as const) {
    await control.changeTransaction(id, { dispute });
    expect([dispute, await refund()]).toEqual([dispute, answer]);
    const { data } = await stripe.disputes.list({ charge: id });
    expect(data).toMatchObject([{ status: dispute, is_charge_refundable: isRefundable }]);
    expect(await stripe.charges.retrieve(id)).toMatchObject({ disputed: true });
  }
});
