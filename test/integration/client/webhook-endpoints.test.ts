import { beforeAll, describe, expect, test } from 'vitest';
import { type RefundClient, verifyWebhook } from '#shared/client/index.ts';
import { connectClient } from '../../support/http/connect-client.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type Receiver, responses, useReceivers } from '../../support/webhooks/receivers.ts';

const service = useService();
const newReceiver = useReceivers();
let client: RefundClient;
beforeAll(async () => {
  client = await connectClient(service);
});

const untilReceived = async ({ received }: Receiver, type: string) =>
  await waitFor(`a webhook ${type}`, () => received.find(({ event }) => event.type === type));

describe('webhookEndpoints', () => {
  test('creates, gets, lists, updates and deletes an endpoint', async () => {
    const { url } = await newReceiver();
    const { secret, ...endpoint } = await client.webhookEndpoints.create({ url, events: ['refund.failed'] });
    expect(secret).toMatch(/^whsec_/);
    expect(endpoint).toMatchObject({ url, events: ['refund.failed'], status: 'enabled', description: null });
    expect(await client.webhookEndpoints.get(endpoint.id)).toEqual(endpoint);
    expect(await client.webhookEndpoints.list()).toContainEqual(endpoint);
    const changed = await client.webhookEndpoints.update(endpoint.id, {
      status: 'disabled',
      events: undefined,
    });
    expect(changed).toMatchObject({ id: endpoint.id, url, status: 'disabled', events: ['refund.failed'] });
    expect(await client.webhookEndpoints.delete(endpoint.id)).toEqual({ id: endpoint.id, deleted: true });
    await expect(client.webhookEndpoints.get(endpoint.id)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('tests an endpoint, rotates its secret, lists its deliveries, and retries and replays them', async () => {
    const receiver = await newReceiver(responses.fail);
    const since = new Date(Date.now() - 60_000).toISOString();
    const { id, secret: first } = await client.webhookEndpoints.create({ url: receiver.url });
    const { id: deliveryId, type } = await client.webhookEndpoints.test(id);
    expect(type).toBe('webhook.test');
    const { body, headers } = await untilReceived(receiver, 'webhook.test');
    expect(verifyWebhook(body, headers, first)).toMatchObject({ type: 'webhook.test' });
    const { secret: second } = await client.webhookEndpoints.rotateSecret(id);
    expect(second).not.toBe(first);
    const [listed] = await client.webhookEndpoints.deliveries(id, { status: 'pending', limit: 1 });
    expect(listed?.id).toBe(deliveryId);
    receiver.respond = responses.accept;
    expect(await client.webhookEndpoints.retry(id, deliveryId)).toMatchObject({ id: deliveryId });
    await waitFor('the delivery to succeed', async () => {
      const [succeeded] = await client.webhookEndpoints.deliveries(id, { status: 'succeeded' });
      return succeeded;
    });
    expect(await client.webhookEndpoints.replay(id, { since, status: 'succeeded' })).toEqual({ count: 1 });
    await waitFor('the third attempt', () => receiver.received.length === 3);
    expect(await client.webhookEndpoints.replayMissing(id, { since })).toEqual({ count: 0 });
    await client.webhookEndpoints.delete(id);
  });
});
