import { afterAll, describe, expect, test, vi } from 'vitest';
import { newId } from '../../../shared/platform/ids.ts';
import { newEndpointSecret, secretColumns } from '../../../shared/webhooks/endpoint-secrets.ts';
import { openWebhookSender } from '../../../worker/deliver/deliver-webhook.ts';
import { withClient } from '../../support/stores/database-client.ts';
import { recordStatements } from '../../support/stores/statements.ts';
import { waitFor } from '../../support/wait-for.ts';
import { useDeliveryStage } from '../../support/webhooks/delivery-stage.ts';
import {
  addEndpoint,
  readDelivery,
  recordCancellation,
  recordRefunds,
} from '../../support/webhooks/endpoints.ts';
import { type Respond, responses, useReceivers, verify } from '../../support/webhooks/receivers.ts';

// Before the connections are made.
const recording = recordStatements();
afterAll(() => recording.stop());
const stage = useDeliveryStage();
const { service } = stage;
const newReceiver = useReceivers();

const hour = 60 * 60 * 1000;
const day = 24 * hour;

/** A receiver that is registered as an endpoint. */
async function register(respond?: Respond) {
  const receiver = await newReceiver(respond);
  const endpoint = await addEndpoint(service, { url: receiver.url });
  const { db } = service.deps;
  return {
    receiver,
    endpoint,
    deliveries: async () =>
      await db.webhookDelivery.findMany({
        where: { endpointId: endpoint.id },
        orderBy: { position: 'asc' },
        include: { attempts: { orderBy: { number: 'asc' } } },
      }),
    now: async () => await db.webhookEndpoint.findUniqueOrThrow({ where: { id: endpoint.id } }),
  };
}

async function onlyOne<T>(items: Promise<T[]>): Promise<T> {
  const [item, ...others] = await items;
  if (item === undefined || others.length > 0) throw new Error(`Expected one, found ${others.length + 1}.`);
  return item;
}

describe('a delivery', () => {
  test('is the event as the feed has it, signed, with the id of the event', async () => {
    const { receiver, endpoint } = await register();
    await recordRefunds(service, 1);
    await stage.create();
    await stage.work();
    const [webhook] = receiver.received;
    if (webhook === undefined) throw new Error('Nothing was received.');
    const { body: feed } = await service.call('GET', '/v1/events?limit=100');
    expect(webhook.event).toEqual(feed.data.at(-1));
    expect(webhook.headers).toMatchObject({
      'webhook-id': webhook.event.id,
      'webhook-timestamp': String(Math.floor(stage.time.now().getTime() / 1000)),
      'content-type': 'application/json',
      'user-agent': expect.stringMatching(/^RefundService-Webhooks\//),
    });
    expect(verify(webhook, endpoint.secret)).toEqual(webhook.event);
    expect(() => verify(webhook, newEndpointSecret())).toThrow('No matching signature');
    expect(() => verify({ ...webhook, body: `${webhook.body} ` }, endpoint.secret)).toThrow();
  });

  test('is signed with both secrets until the previous one expires', async () => {
    const { receiver, endpoint } = await register();
    const rotated = newEndpointSecret();
    const { db, secrets } = service.deps;
    await db.webhookEndpoint.update({
      where: { id: endpoint.id },
      data: secretColumns(
        secrets,
        endpoint.id,
        [rotated, endpoint.secret],
        new Date(stage.time.now().getTime() + 1_000),
      ),
    });
    const send = async () => {
      await recordRefunds(service, 1);
      await stage.create();
      await stage.work();
      const last = receiver.received.at(-1);
      if (last === undefined) throw new Error('Nothing was received.');
      return last;
    };
    const during = await send();
    for (const secret of [rotated, endpoint.secret]) expect(verify(during, secret)).toEqual(during.event);
    await stage.advance(1_000);
    const after = await send();
    expect(verify(after, rotated)).toEqual(after.event);
    expect(() => verify(after, endpoint.secret)).toThrow('No matching signature');
  });

  test('of a test event has the id of the delivery row and no refund', async () => {
    const { receiver, endpoint } = await register();
    const id = newId('del');
    const eventId = newId('evt');
    const now = stage.time.now();
    const data = {
      id,
      endpointId: endpoint.id,
      eventId,
      type: 'webhook.test',
      nextAttemptAt: now,
      createdAt: now,
    };
    await service.deps.db.webhookDelivery.create({ data });
    await stage.sweep();
    await stage.work();
    const [webhook] = receiver.received;
    expect(webhook?.event).toEqual({
      ...{ id: eventId, type: 'webhook.test', createdAt: now.toISOString() },
      ...{ refundId: null, seq: null, previousStatus: null, failure: null, data: {} },
    });
    expect(webhook?.headers['webhook-id']).toBe(eventId);
  });

  test('is not sent when the secret cannot be read, and is retried', async () => {
    const { receiver, endpoint, deliveries } = await register();
    const other = secretColumns(service.deps.secrets, 'we_other', [endpoint.secret], null);
    await service.deps.db.webhookEndpoint.update({
      where: { id: endpoint.id },
      data: { encryptedSecret: other.encryptedSecret },
    });
    await recordRefunds(service, 1);
    await stage.create();
    await stage.work();
    expect(receiver.received).toEqual([]);
    expect(await onlyOne(deliveries())).toMatchObject({
      status: 'pending',
      attempts: [{ error: 'not_sent' }],
    });
  });
});

describe('a receiver that', () => {
  test.each([
    { what: 'accepts', respond: responses.accept, status: 204, error: null },
    { what: 'fails', respond: responses.fail, status: 500, error: 'unsuccessful_status' },
    { what: 'redirects', respond: responses.redirect, status: 302, error: 'redirect' },
    { what: 'resets the connection', respond: responses.reset, status: null, error: 'connection_closed' },
    { what: 'does not answer', respond: responses.hang, status: null, error: 'timeout' },
    { what: 'trickles', respond: responses.trickle, status: 200, error: 'timeout' },
    { what: 'sends megabytes', respond: responses.megabytes, status: 200, error: null },
    { what: 'does not speak HTTP', respond: responses.malformed, status: null, error: 'invalid_response' },
  ])('$what: $status, $error', async ({ respond, status, error }) => {
    const { deliveries, now } = await register(respond);
    await recordRefunds(service, 1);
    await stage.create();
    await stage.work(stage.impatient);
    const { attempts, ...delivery } = await onlyOne(deliveries());
    expect(attempts).toMatchObject([
      { number: 1, responseStatus: status, error, startedAt: stage.time.now() },
    ]);
    expect(attempts[0]?.durationMs).toBeGreaterThanOrEqual(0);
    expect(delivery.status).toBe(error === null ? 'succeeded' : 'pending');
    expect(delivery.nextAttemptAt === null).toBe(error === null);
    expect((await now()).failingSince).toEqual(error === null ? null : stage.time.now());
  });

  test('answers with secrets and control characters has them removed from the record', async () => {
    const { deliveries } = await register((response) => {
      response
        .writeHead(500)
        .end(`no\0t svc_live_abcdef \u{1b}[31mred\r\nwhsec_abcdef 4242424242424242 ${'é'.repeat(9_999)}`);
    });
    await recordRefunds(service, 1);
    await stage.create();
    await stage.work();
    const [attempt] = (await onlyOne(deliveries())).attempts;
    expect(attempt?.responseBody).toMatch(
      /^no\u{fffd}t svc_live_\[redacted\] \u{fffd}\[31mred\u{fffd}\nwhsec_\[redacted\] \[digits redacted\] é+\u{fffd}?$/u,
    );
    expect(attempt?.responseBody?.length).toBeLessThan(4_096);
  });

  test('fails is tried eight times on the schedule, with the same id and the time of the attempt', async () => {
    const { receiver, deliveries } = await register(responses.fail);
    await recordRefunds(service, 1);
    await stage.create();
    await stage.work();
    const pauses = [5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 10 * 3600];
    for (const [index, seconds] of pauses.entries()) {
      const { nextAttemptAt, status } = await onlyOne(deliveries());
      expect(status).toBe('pending');
      const pauseMs = (nextAttemptAt?.getTime() ?? 0) - stage.time.now().getTime();
      expect(pauseMs / 1000).toBeGreaterThanOrEqual(seconds);
      expect(pauseMs / 1000).toBeLessThanOrEqual(seconds * 1.1 + 0.001);
      await stage.advance(pauseMs - 1);
      await stage.sweep();
      await stage.work();
      expect(receiver.received).toHaveLength(index + 1);
      await stage.advance(1);
      await stage.sweep();
      await stage.work();
      expect(receiver.received).toHaveLength(index + 2);
      const sentAt = Math.floor(stage.time.now().getTime() / 1000);
      expect(receiver.received.at(-1)?.headers['webhook-timestamp']).toBe(String(sentAt));
    }
    expect(await onlyOne(deliveries())).toMatchObject({ status: 'failed', nextAttemptAt: null });
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
    await stage.advance(2 * day);
    await stage.sweep();
    expect(stage.wakeUps.size).toBe(0);
  });

  test('succeeds at a retry ends its delivery and is no longer failing', async () => {
    const { receiver, deliveries, now } = await register(responses.fail);
    await recordRefunds(service, 1);
    await stage.create();
    await stage.work();
    receiver.respond = responses.accept;
    await stage.advance(6_000);
    await stage.sweep();
    await stage.work();
    expect(await onlyOne(deliveries())).toMatchObject({
      status: 'succeeded',
      nextAttemptAt: null,
      leasedUntil: null,
    });
    expect((await now()).failingSince).toBeNull();
  });

  test('is gone gets no further event, and its deliveries end', async () => {
    const warn = vi.spyOn(service.deps.log, 'warn');
    const { receiver, endpoint, deliveries, now } = await register(responses.gone);
    const [id = ''] = await recordRefunds(service, 3);
    await recordCancellation(service, id);
    await stage.create();
    await stage.work();
    expect(await now()).toMatchObject({
      status: 'disabled',
      disabledReason: 'gone',
      updatedAt: stage.time.now(),
    });
    for (const { status, nextAttemptAt } of await deliveries()) {
      expect({ status, nextAttemptAt }).toEqual({ status: 'failed', nextAttemptAt: null });
    }
    const sent = receiver.received.length;
    await recordRefunds(service, 1);
    await stage.create();
    await stage.advance(day);
    await stage.sweep();
    await stage.work();
    expect(receiver.received).toHaveLength(sent);
    expect(await deliveries()).toHaveLength(4);
    const audited = await service.deps.db.auditLog.findMany({ where: { target: endpoint.id } });
    const detail = { environment: 'test', reason: 'gone' };
    expect(audited).toMatchObject([{ actor: 'worker', action: 'webhook_endpoint.disabled', detail }]);
    const logged = { endpointId: endpoint.id, reason: 'gone' };
    expect(warn.mock.calls).toEqual([[logged, 'a webhook endpoint was disabled']]);
  });

  test('fails for five days is disabled by the attempt after that, and not by one before', async () => {
    const { receiver, now, deliveries } = await register(responses.fail);
    const send = async () => {
      await recordRefunds(service, 1);
      await stage.create();
      await stage.sweep();
      await stage.work();
    };
    await send();
    await stage.advance(4 * day);
    receiver.respond = responses.accept;
    await send();
    receiver.respond = responses.fail;
    await send();
    await stage.advance(5 * day - 1);
    await send();
    expect(await now()).toMatchObject({ status: 'enabled' });
    await stage.advance(1);
    await send();
    expect(await now()).toMatchObject({ status: 'disabled', disabledReason: 'failing', failingSince: null });
    for (const { status } of await deliveries()) expect(status).not.toBe('pending');
  });
});

test('a delivery that is left pending at a disabled endpoint ends without an attempt', async () => {
  const { receiver, endpoint, deliveries } = await register();
  await recordRefunds(service, 1);
  await stage.create();
  await service.deps.db.webhookEndpoint.update({ where: { id: endpoint.id }, data: { status: 'disabled' } });
  await stage.work();
  expect(await onlyOne(deliveries())).toMatchObject({ status: 'failed', nextAttemptAt: null, attempts: [] });
  expect(receiver.received).toEqual([]);
});

/** Lets the first webhook wait for the test, and accepts all others. */
function holdFirst(release: { respond?: Respond } = {}): {
  respond: Respond;
  end: (respond: Respond) => void;
} {
  let end: (respond: Respond) => void = () => {};
  const ending = new Promise<Respond>((resolve) => {
    end = resolve;
  });
  let isFirst = true;
  const respond: Respond = (response, webhook) => {
    if (!isFirst) return responses.accept(response);
    isFirst = false;
    void ending.then((answer) => (release.respond ?? answer)(response, webhook));
  };
  return { respond, end };
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
      // Also when a job for a later event comes too early.
      for (const { id } of await service.deps.db.webhookDelivery.findMany()) stage.wakeUps.add(id);
      const working = stage.work();
      await waitFor('both refunds to be sent', () => receiver.received.length === 2);
      await stage.sweep();
      await stage.work();
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
  test('has at most 10 attempts under way, and each that ends lets the next one start', async () => {
    const answers: (() => void)[] = [];
    const { receiver } = await register((response) => answers.push(() => responses.accept(response)));
    await recordRefunds(service, 30);
    await stage.create();
    for (const { id } of await service.deps.db.webhookDelivery.findMany()) stage.wakeUps.add(id);
    const working = stage.work();
    await waitFor('the attempts to start', () => receiver.received.length === 10);
    await stage.sweep();
    expect(stage.wakeUps.size).toBe(0);
    for (const answer of answers.splice(0, 3)) answer();
    const more: Promise<void>[] = [];
    await waitFor('three more', () => {
      more.push(stage.work());
      return receiver.received.length === 13;
    });
    await waitFor('the rest', () => {
      for (const answer of answers.splice(0)) answer();
      more.push(stage.work());
      return receiver.received.length === 30;
    });
    for (const answer of answers.splice(0)) answer();
    await Promise.all([working, ...more]);
    expect(new Set(receiver.received.map(({ event }) => event.id)).size).toBe(30);
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
    expect(stage.wakeUps.size).toBe(0);
    receiver.respond = responses.accept;
    await receiver.close();
    await working;
  });
});

describe('the attempts of a batch', () => {
  test('share one statement to claim and one to record', async () => {
    for (let count = 0; count < 6; count += 1) await register();
    await recordRefunds(service, 10);
    await stage.create();
    const accept = { status: 204, body: Buffer.alloc(0), error: null };
    const worker = openWebhookSender(service.deps, { post: async () => accept, close: async () => {} });
    const statements = await recording.during(() => stage.work(worker));
    expect(statements, statements.join('\n')).toHaveLength(2);
    expect(statements[0]).toContain('claim_deliveries');
    expect(statements[1]).toContain('record_deliveries');
    expect(await service.deps.db.webhookDelivery.count({ where: { status: 'succeeded' } })).toBe(60);
  });
});

describe('a clock that jumps', () => {
  test.each([
    { what: 'an hour ahead', ms: hour },
    { what: 'an hour back', ms: -hour },
  ])(
    '$what during an attempt leaves one delivery, that is due five seconds after the attempt',
    async ({ ms }) => {
      const held = holdFirst();
      const { receiver, deliveries } = await register(held.respond);
      await recordRefunds(service, 1);
      await stage.create();
      const working = stage.work();
      await waitFor('the attempt', () => receiver.received.length === 1);
      await stage.advance(ms);
      held.end(responses.fail);
      await working;
      const { attempts, nextAttemptAt } = await onlyOne(deliveries());
      expect(attempts).toMatchObject([{ responseStatus: 500 }]);
      const pauseMs = (nextAttemptAt?.getTime() ?? 0) - stage.time.now().getTime();
      expect(pauseMs).toBeGreaterThanOrEqual(5_000);
      expect(pauseMs).toBeLessThanOrEqual(5_501);
      await stage.advance(Math.max(0, -ms));
    },
  );
});

test('a worker whose lease was lost changes nothing but its own attempt, and both sent the same id', async () => {
  const held = holdFirst();
  const { receiver, deliveries } = await register(held.respond);
  await recordRefunds(service, 1);
  await stage.create();
  const working = stage.work();
  await waitFor('the attempt', () => receiver.received.length === 1);
  await stage.advance(31_000);
  await stage.sweep();
  await stage.work();
  expect(await onlyOne(deliveries())).toMatchObject({ status: 'succeeded' });
  held.end(responses.fail);
  await working;
  expect(await onlyOne(deliveries())).toMatchObject({
    status: 'succeeded',
    nextAttemptAt: null,
    attempts: [
      { responseStatus: 500, error: 'unsuccessful_status' },
      { responseStatus: 204, error: null },
    ],
  });
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
});

test('an attempt that is requested while another one fails is made at once', async () => {
  const held = holdFirst();
  const { receiver, deliveries } = await register(held.respond);
  await recordRefunds(service, 1);
  await stage.create();
  const working = stage.work();
  await waitFor('the attempt', () => receiver.received.length === 1);
  const { id } = await onlyOne(deliveries());
  await service.deps.db.webhookDelivery.update({ where: { id }, data: { nextAttemptAt: stage.time.now() } });
  await stage.worker.deliver(id);
  expect(receiver.received).toHaveLength(1);
  held.end(responses.fail);
  await working;
  expect(receiver.received).toHaveLength(2);
  expect(await readDelivery(service, id)).toMatchObject({ status: 'succeeded' });
});

test('a disabled endpoint stays disabled when its pending deliveries cannot be ended', async () => {
  const warn = vi.spyOn(service.deps.log, 'warn');
  const { deliveries, now } = await register(responses.gone);
  await recordRefunds(service, 25);
  await stage.create();
  await withClient(service.settings.DATABASE_URL, async (client) => {
    // As a statement that takes too long does.
    await client.query(`CREATE FUNCTION refuse_ending() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'canceled' USING ERRCODE = '57014'; END $$;
      CREATE TRIGGER refuse_ending BEFORE UPDATE ON webhook_delivery FOR EACH ROW
      WHEN (OLD.leased_until IS NULL AND NEW.status = 'failed') EXECUTE FUNCTION refuse_ending()`);
    try {
      const ids = [...stage.wakeUps];
      stage.wakeUps.clear();
      await Promise.all(ids.map((id) => stage.worker.deliver(id)));
    } finally {
      await client.query('DROP TRIGGER refuse_ending ON webhook_delivery; DROP FUNCTION refuse_ending()');
    }
  });
  expect(await now()).toMatchObject({ status: 'disabled', disabledReason: 'gone' });
  expect(warn).toHaveBeenCalledTimes(2);
  expect((await deliveries()).filter(({ status }) => status === 'pending')).toHaveLength(15);
  for (const { id } of await deliveries()) await stage.worker.deliver(id);
  for (const { status } of await deliveries()) expect(status).toBe('failed');
});

test('an attempt whose delivery was deleted meanwhile enqueues nothing of other endpoints', async () => {
  const held = holdFirst();
  const { receiver, endpoint } = await register(held.respond);
  await recordRefunds(service, 1);
  await stage.create();
  const working = stage.work();
  await waitFor('the attempt', () => receiver.received.length === 1);
  await service.deps.db.webhookEndpoint.delete({ where: { id: endpoint.id } });
  const other = await register();
  await recordRefunds(service, 1);
  await stage.create();
  stage.wakeUps.clear();
  held.end(responses.accept);
  await working;
  expect(await onlyOne(other.deliveries())).toMatchObject({ status: 'pending', attempts: [] });
});

test('a sweep enqueues at most 500 deliveries, of every endpoint before a second one of another', async () => {
  const endpoints = [];
  for (let count = 0; count < 60; count += 1) endpoints.push((await register()).endpoint.id);
  await recordRefunds(service, 20);
  await stage.create();
  stage.wakeUps.clear();
  await stage.sweep();
  expect(stage.wakeUps.size).toBe(500);
  const found = await service.deps.db.webhookDelivery.groupBy({
    by: ['endpointId'],
    where: { id: { in: [...stage.wakeUps] } },
    _count: true,
  });
  expect(found.map(({ _count }) => _count).toSorted((a, b) => a - b)).toEqual([
    ...Array<number>(40).fill(8),
    ...Array<number>(20).fill(9),
  ]);
});
