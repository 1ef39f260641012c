import { describe, expect, test } from 'vitest';
import { openWebhookSender } from '#worker/deliver/deliver-webhook.ts';
import { waitFor } from '../../support/wait-for.ts';
import { storeDelivery } from '../../support/webhooks/api-endpoints.ts';
import { useDeliveryStage } from '../../support/webhooks/delivery-stage.ts';
import { recordCancellation, recordRefunds } from '../../support/webhooks/endpoints.ts';
import { type Respond, responses } from '../../support/webhooks/receivers.ts';
import { onlyOne, useRegisteredReceivers } from '../../support/webhooks/registered-receivers.ts';

const stage = useDeliveryStage();
const { service } = stage;
const register = useRegisteredReceivers(service);

/** Lets the first webhook wait for the test, and accepts all others. */
function holdFirst(): { respond: Respond; end: (respond: Respond) => void } {
  let end: (respond: Respond) => void = () => {};
  const ending = new Promise<Respond>((resolve) => {
    end = resolve;
  });
  let isFirst = true;
  const respond: Respond = (response, webhook) => {
    if (!isFirst) return responses.accept(response);
    isFirst = false;
    void ending.then((answer) => answer(response, webhook));
  };
  return { respond, end };
}

/** Registers a receiver and starts the attempt of one event, which lasts until `end` answers it. */
async function holdAttempt() {
  const held = holdFirst();
  const registered = await register(held.respond);
  await recordRefunds(service, 1);
  await stage.create();
  const working = stage.work();
  await waitFor('the attempt', () => registered.receiver.received.length === 1);
  const end = async (respond: Respond) => {
    held.end(respond);
    await working;
  };
  return { ...registered, end };
}

describe('the events of one refund', () => {
  test.each([
    { outcome: 'fails', answer: responses.fail },
    { outcome: 'succeeds', answer: responses.accept },
  ])(
    'are sent in order: the next one as soon as the first attempt of the one before $outcome',
    async ({ answer }) => {
      const held = holdFirst();
      const { receiver } = await register(held.respond);
      const [first = '', other = ''] = await recordRefunds(service, 2);
      await recordCancellation(service, first);
      await stage.create();
      const working = stage.work();
      await waitFor('both refunds to be sent', () => receiver.received.length === 2);
      await stage.sweep();
      expect(stage.leased).toEqual([]);
      const sent = () => receiver.received.map(({ event }) => [event.refundId, event.type]);
      expect(sent().toSorted()).toEqual(
        [
          [first, 'refund.created'],
          [other, 'refund.created'],
        ].toSorted(),
      );
      held.end(answer);
      await working;
      expect(sent()).toHaveLength(3);
      expect(sent().at(-1)).toEqual([first, 'refund.cancelled']);
    },
  );
});

describe('an endpoint that hangs', () => {
  test('has at most 25 attempts under way, each that ends lets the next one start, and no other endpoint waits', async () => {
    const answers: (() => void)[] = [];
    const { receiver } = await register((response) => answers.push(() => responses.accept(response)));
    const { receiver: other } = await register(responses.accept);
    await recordRefunds(service, 45);
    await stage.create();
    const working = stage.work();
    await waitFor('the attempts to start', () => receiver.received.length === 25);
    await waitFor('all of the other endpoint', () => other.received.length === 45);
    await stage.sweep();
    expect(stage.leased).toEqual([]);
    for (const answer of answers.splice(0, 3)) answer();
    await waitFor('three more', () => receiver.received.length === 28);
    await waitFor('the rest', () => {
      for (const answer of answers.splice(0)) answer();
      return receiver.received.length === 45;
    });
    for (const answer of answers.splice(0)) answer();
    await working;
    expect(new Set(receiver.received.map(({ event }) => event.id)).size).toBe(45);
  });

  test('has at most 5 attempts under way once it fails', async () => {
    const { receiver, endpoint } = await register(responses.hang);
    await service.deps.db.webhookEndpoint.update({
      where: { id: endpoint.id },
      data: { failingSince: stage.time.now() },
    });
    await recordRefunds(service, 10);
    await stage.create();
    const working = stage.work();
    await waitFor('the attempts to start', () => receiver.received.length === 5);
    await stage.sweep();
    expect(stage.leased).toEqual([]);
    receiver.respond = responses.accept;
    await receiver.close();
    await working;
  });
});

test('the end of the backlog of an endpoint that is gone holds up no other attempt', async () => {
  const gone = await register(responses.gone);
  const left = await storeDelivery(service, gone.endpoint.id, {
    ...{ status: 'pending', nextAttemptAt: new Date('2100-01-01') },
  });
  const other = await register(async (response) => {
    await waitFor('the other to be disabled', async () => (await gone.now()).status === 'disabled');
    responses.accept(response);
  });
  await recordRefunds(service, 1);
  await stage.create();
  let working: Promise<void> | undefined;
  // A backlog of millions takes as long.
  await service.ownerDb.$transaction(
    async (tx) => {
      await tx.$queryRaw`SELECT FROM webhook_delivery WHERE id = ${left.id} FOR UPDATE`;
      working = stage.work();
      const isRecorded = async () => (await onlyOne(other.deliveries())).status === 'succeeded';
      await waitFor('the attempt of the other to be recorded', isRecorded);
    },
    { timeout: 60_000 },
  );
  await working;
  for (const { status } of await gone.deliveries()) expect(status).toBe('failed');
});

test('a worker whose lease was lost changes nothing but its own attempt, and both sent the same id', async () => {
  const { receiver, deliveries, end } = await holdAttempt();
  await stage.advance(31_000);
  await stage.sweep();
  // Another one than the worker that is still waiting.
  const other = openWebhookSender(service.deps);
  await stage.work(other);
  await other.close();
  expect(await onlyOne(deliveries())).toMatchObject({ status: 'succeeded' });
  await end(responses.fail);
  expect(await onlyOne(deliveries())).toMatchObject({
    status: 'succeeded',
    nextAttemptAt: null,
    attempts: [{ responseStatus: 500, error: 'unsuccessful_status' }, { responseStatus: 204 }],
  });
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
});

test('a delivery keeps its last 20 attempts', async () => {
  const { deliveries } = await register();
  await recordRefunds(service, 1);
  await stage.create(0);
  const { id } = await onlyOne(deliveries());
  const startedAt = stage.time.now().toISOString();
  const attempts = Array.from({ length: 20 }, (_, index) => ({
    number: index + 1,
    startedAt,
    durationMs: 1,
  }));
  await service.deps.db.webhookDelivery.update({ where: { id }, data: { attempts } });
  await stage.sweep();
  await stage.work();
  const { attempts: kept } = await onlyOne(deliveries());
  expect(kept.map(({ number }) => number)).toEqual(Array.from({ length: 20 }, (_, index) => index + 2));
  expect(kept.at(-1)).toMatchObject({ responseStatus: 204 });
});

test('an attempt that is requested while another one fails is made at once', async () => {
  const { receiver, deliveries, end } = await holdAttempt();
  const { id } = await onlyOne(deliveries());
  await service.deps.db.webhookDelivery.update({ where: { id }, data: { nextAttemptAt: stage.time.now() } });
  await stage.worker.sweep();
  expect(receiver.received).toHaveLength(1);
  await end(responses.fail);
  expect(receiver.received).toHaveLength(2);
  expect(await onlyOne(deliveries())).toMatchObject({ status: 'succeeded' });
});
