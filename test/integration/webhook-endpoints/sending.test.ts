import type { ServerResponse } from 'node:http';
import { beforeAll, expect, test } from 'vitest';
import { auditOf } from '../../support/audit-log.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';
import { newEndpoint } from '../../support/webhooks/api-endpoints.ts';
import { type Receiver, useReceivers, verify } from '../../support/webhooks/receivers.ts';

const service = useService();
const receiver = useReceivers();
beforeAll(() => service.sandbox.settings({ autoSettleMs: 0 }));

const call = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown) => {
  const answer = await service.call(method, `/v1/webhook-endpoints/${path}`, { body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.data;
};
const deliveriesOf = async (id: string) => await call('GET', `${id}/deliveries`);
const untilReceived = (at: Receiver, count: number) =>
  waitFor(`${count} webhooks`, () => at.received.length === count);
const untilStatus = (id: string, status: string) =>
  waitFor(`the delivery to be ${status}`, async () => (await deliveriesOf(id))[0]?.status === status);

/** A receiver that responds when the test says so. */
async function heldReceiver() {
  const waiting: ServerResponse[] = [];
  const at = await receiver((response) => void waiting.push(response));
  return { at, respond: (status: number) => waiting.shift()?.writeHead(status).end() };
}

test('sends a test event with exactly the documented fields, signed with every valid secret', async () => {
  const at = await receiver();
  const { id, secret } = await newEndpoint(service, { url: at.url, events: ['refund.cancelled'] });
  const { secret: next } = await call('POST', `${id}/rotate-secret`);
  const delivery = await call('POST', `${id}/test`);
  await untilReceived(at, 1);
  const [webhook] = at.received;
  if (webhook === undefined) throw new Error('nothing was received');
  const { createdAt } = await service.deps.db.webhookDelivery.findUniqueOrThrow({
    where: { id: delivery.id },
  });
  expect(verify(webhook, next)).toEqual(verify(webhook, secret));
  expect(verify(webhook, secret)).toEqual({
    ...{ id: delivery.eventId, type: 'webhook.test', createdAt: createdAt.toISOString() },
    ...{ refundId: null, seq: null, previousStatus: null, failure: null, data: {} },
  });
  expect(webhook.headers['webhook-id']).toBe(delivery.eventId);
  const { status } = await service.call('GET', `/v1/events?after=${delivery.eventId}`);
  expect(status, 'it is not in the feed').toBe(400);
  expect((await auditOf(service, id)).at(-1)).toMatchObject({
    action: 'webhook_endpoint.tested',
    detail: { delivery: delivery.id },
  });
  await untilStatus(id, 'succeeded');
  expect(await deliveriesOf(id)).toMatchObject([
    { id: delivery.id, nextAttemptAt: null, attempts: [{ responseStatus: 204, error: null }] },
  ]);
});

test('makes no further attempt for an endpoint that is disabled during one', async () => {
  const { at, respond } = await heldReceiver();
  const { id } = await newEndpoint(service, { url: at.url });
  await call('POST', `${id}/test`);
  await untilReceived(at, 1);
  await call('PATCH', id, { status: 'disabled' });
  respond(500);
  const where = { endpointId: id, leasedUntil: null };
  const delivery = await waitFor('the attempt to be recorded', () =>
    service.deps.db.webhookDelivery.findFirst({ where }),
  );
  expect(delivery).toMatchObject({ status: 'failed', nextAttemptAt: null });
  expect(at.received).toHaveLength(1);
});
