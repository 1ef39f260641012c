import { describe, expect, test, vi } from 'vitest';
import { newEndpointSecret, secretColumns } from '#shared/webhooks/endpoint-secrets.ts';
import { useDeliveryStage } from '../../support/webhooks/delivery-stage.ts';
import { recordCancellation, recordRefunds } from '../../support/webhooks/endpoints.ts';
import { responses, verify } from '../../support/webhooks/receivers.ts';
import { onlyOne, useRegisteredReceivers } from '../../support/webhooks/registered-receivers.ts';

const stage = useDeliveryStage();
const { service } = stage;
const register = useRegisteredReceivers(service);

const day = 24 * 60 * 60 * 1000;

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
    { what: 'resets the connection', respond: responses.reset, status: null, error: 'connection_closed' },
  ])('$what: $status, $error', async ({ respond, status, error }) => {
    const { deliveries, now } = await register(respond);
    await recordRefunds(service, 1);
    await stage.create();
    await stage.work();
    const { attempts, ...delivery } = await onlyOne(deliveries());
    const told = {
      ...(status === null ? {} : { responseStatus: status }),
      ...(error === null ? {} : { error }),
    };
    expect(attempts).toMatchObject([{ number: 1, ...told }]);
    expect(new Date(attempts[0]?.startedAt ?? '')).toEqual(stage.time.now());
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

  test('fails is tried eight times, when each pause is over, with the same id and the time of the attempt', async () => {
    const { receiver, deliveries } = await register(responses.fail);
    await recordRefunds(service, 1);
    await stage.create();
    await stage.work();
    const attemptWhatIsDue = async (afterMs: number) => {
      await stage.advance(afterMs);
      await stage.sweep();
      await stage.work();
      return receiver.received.length;
    };
    for (let attempts = 1; attempts < 8; attempts += 1) {
      const { nextAttemptAt, status } = await onlyOne(deliveries());
      expect(status).toBe('pending');
      const pauseMs = (nextAttemptAt?.getTime() ?? 0) - stage.time.now().getTime();
      expect(await attemptWhatIsDue(pauseMs - 1)).toBe(attempts);
      expect(await attemptWhatIsDue(1)).toBe(attempts + 1);
      const sentAt = Math.floor(stage.time.now().getTime() / 1000);
      expect(receiver.received.at(-1)?.headers['webhook-timestamp']).toBe(String(sentAt));
    }
    expect(await onlyOne(deliveries())).toMatchObject({ status: 'failed', nextAttemptAt: null });
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
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
    // Leased together with an earlier event of its refund, and not sent after that one's answer.
    expect((await deliveries()).find(({ type }) => type === 'refund.cancelled')).toMatchObject({
      attempts: [],
    });
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

test('an answer from an earlier URL of the endpoint neither disables it nor leads to a further request there', async () => {
  const { receiver, endpoint, deliveries, now } = await register();
  const { receiver: next } = await register();
  const path = `/v1/webhook-endpoints/${endpoint.id}`;
  receiver.respond = (response) => {
    void service.call('PATCH', path, { body: { url: next.url } }).then(() => responses.gone(response));
  };
  const [id = ''] = await recordRefunds(service, 1);
  await recordCancellation(service, id);
  await stage.create();
  await stage.work();
  expect(receiver.received).toHaveLength(1);
  expect(await now()).toMatchObject({ status: 'enabled', failingSince: null, url: next.url });
  await stage.advance(10_000);
  await stage.sweep();
  await stage.work();
  expect((await deliveries()).map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
});

test('a delivery that is left pending at a disabled endpoint ends without an attempt', async () => {
  const { receiver, endpoint, deliveries } = await register();
  await recordRefunds(service, 1);
  await stage.create(0);
  await service.deps.db.webhookEndpoint.update({ where: { id: endpoint.id }, data: { status: 'disabled' } });
  await stage.sweep();
  await stage.work();
  expect(await onlyOne(deliveries())).toMatchObject({ status: 'failed', nextAttemptAt: null, attempts: [] });
  expect(receiver.received).toEqual([]);
});
