import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type Stripe from 'stripe';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { useStripeSandbox } from '../../support/processors/stripe-sandbox.ts';

const { clock, control, stripe, card } = useStripeSandbox();

describe('Stripe webhooks', () => {
  const secret = 'whsec_sandbox';
  const received: Stripe.Event[] = [];
  let failures = 0;
  let receiver: Server;

  beforeAll(async () => {
    receiver = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      if (failures > 0) {
        failures -= 1;
        response.writeHead(500).end();
        return;
      }
      const header = request.headers['stripe-signature'] ?? '';
      received.push(stripe.webhooks.constructEvent(Buffer.concat(chunks), header, secret));
      response.end();
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const { port } = receiver.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/`;
    await control.settings({ webhooks: [{ processor: 'stripe', environment: 'test', url, secret }] });
  });

  afterAll(async () => {
    await control.settings({ webhooks: [] });
    receiver.closeAllConnections();
    await new Promise((resolve) => receiver.close(resolve));
  });

  const eventsOf = (id: string) => received.filter((event) => (event.data.object as Stripe.Refund).id === id);
  const waitForEvents = (id: string, count: number) =>
    vi.waitFor(() => expect(eventsOf(id)).toHaveLength(count), { timeout: 4000 });

  test('announce creation and settling, signed, each with its own id', async () => {
    await card('ch_hooks');
    const { id } = await stripe.refunds.create({ charge: 'ch_hooks', amount: 100 });
    await waitForEvents(id, 1);
    clock.ms += 1500;
    await waitForEvents(id, 2);
    const [created, updated] = eventsOf(id);
    expect(created).toMatchObject({ object: 'event', type: 'refund.created', livemode: false });
    expect(created?.data.object).toMatchObject({ status: 'pending' });
    expect(updated?.type).toBe('refund.updated');
    expect(updated?.data.previous_attributes).toMatchObject({ status: 'pending' });
    expect(created?.id).not.toBe(updated?.id);
  });

  test('announce a failure after success as refund.updated and refund.failed', async () => {
    await card('ch_hookFails');
    const { id } = await stripe.refunds.create({ charge: 'ch_hookFails', amount: 100 });
    clock.ms += 1500;
    await waitForEvents(id, 2);
    await control.driveRefund(id, { status: 'failed', failureReason: 'declined' });
    await waitForEvents(id, 4);
    const failed = eventsOf(id).find((event) => event.type === 'refund.failed');
    expect(failed?.data.object).toMatchObject({ status: 'failed', failure_reason: 'declined' });
    expect(failed?.data.previous_attributes).toMatchObject({ status: 'succeeded' });
    expect(new Set(eventsOf(id).map((event) => event.id)).size).toBe(4);
  });

  test('announce a refund that succeeds at once with its charge and its bank reference', async () => {
    await card('ch_hookAtOnce');
    await control.settings({ autoSettleMs: 0 });
    const { id, status } = await stripe.refunds.create({ charge: 'ch_hookAtOnce', amount: 100 });
    await control.settings({ autoSettleMs: 1500 });
    expect(status).toBe('succeeded');
    await waitForEvents(id, 2);
    const types = () => eventsOf(id).map((event) => event.type);
    expect(types().toSorted()).toEqual(['refund.created', 'refund.updated']);
    for (const event of eventsOf(id)) expect(event.data.object).toMatchObject({ status: 'succeeded' });
    await waitForEvents('ch_hookAtOnce', 1);
    const [charge] = eventsOf('ch_hookAtOnce');
    expect(charge).toMatchObject({ type: 'charge.refunded', data: { object: { amount_refunded: 100 } } });
  });

  test('are sent again when the receiver fails', async () => {
    await card('ch_hookRetry');
    failures = 1;
    const { id } = await stripe.refunds.create({ charge: 'ch_hookRetry', amount: 100 });
    await waitForEvents(id, 1);
    expect(failures).toBe(0);
  });
});
