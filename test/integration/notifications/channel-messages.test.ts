import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { readNeedsAttention } from '#shared/insights/needs-attention.ts';
import { removeChannel, requestChannelTest, setChannel } from '#shared/notifications/channel.ts';
import { createOrganization } from '#shared/organizations/create-organization.ts';
import { noteAbility } from '#shared/processors/accounts/abilities.ts';
import { type Notifier, openNotifier } from '#worker/notify/notify.ts';
import { auditOf } from '../../support/audit-log.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { pendingRefund, runTasks } from '../../support/notifications/notification-stage.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { useService } from '../../support/use-service.ts';
import { responses, useReceivers } from '../../support/webhooks/receivers.ts';

const service = useService({ workers: 0 });
const newReceiver = useReceivers();
let notifier: Notifier;

/** Without a mail server. */
const open = (more: object = {}) =>
  openNotifier({
    ...service.deps,
    settings: { ...service.settings, PUBLIC_URL: 'https://refunds.test', SMTP_URL: null, ...more },
  }) as Notifier;

beforeAll(async () => {
  notifier = open();
  // The keys of the service are not new.
  await service.deps.db.apiKey.updateMany({ data: { createdAt: new Date(0) } });
  await storePolicies(service, { approvalAbove: { api: 0, dashboard: 0 } });
});
afterAll(() => notifier.close());

beforeEach(async () => {
  const { db } = service.deps;
  await db.refund.updateMany({ where: { status: 'pending' }, data: { status: 'cancelled' } });
  await db.notificationChannel.deleteMany();
});

const change = (organizationId = service.organization.id) =>
  ({ organizationId, environment: 'test', actor: 'test' }) as const;

/** A receiver that is the channel of an organization's test environment. */
async function newChannel(organizationId?: string) {
  const receiver = await newReceiver();
  await setChannel(service.deps, { ...change(organizationId), url: `${receiver.url}/secret-part` });
  return receiver;
}

const hourAgo = () => new Date(Date.now() - 61 * 60_000);

/** Notes what is new, and sends it as if its minute and every pause were over. */
async function send(by = notifier): Promise<void> {
  await runTasks(by);
  const where = { dueAt: { not: null } };
  await service.deps.db.notification.updateMany({ where, data: { dueAt: new Date(0) } });
  await runTasks(by);
}

test('several approvals are one message to the channel, also without a mail server', async () => {
  const { received } = await newChannel();
  const ids = [await pendingRefund(service), await pendingRefund(service), await pendingRefund(service)];
  await send();
  await send();
  expect(received).toHaveLength(1);
  const [subject, ...lines] = received[0]?.event.text.split('\n') ?? [];
  expect(subject).toBe('[Test organization, test] 3 refunds await approval');
  const base = `https://refunds.test/dashboard/${service.organization.id}/test/refunds`;
  expect(lines.toSorted()).toEqual(
    ids.map((id) => `• <${base}/${id}|Refund of 10.00 USD awaits approval>`).toSorted(),
  );
});

test('each ability that a processor refuses is a message of its own, and the credentials stand for all of them', async () => {
  const { received } = await newChannel();
  const where = {
    organizationId: service.organization.id,
    environment: 'test',
    processor: 'stripe',
  } as const;
  const refuse = async (ability: 'refund' | 'cancel' | 'credentials') => {
    const account = await service.deps.db.processorAccount.findFirstOrThrow({ where });
    await noteAbility(service.deps, account, { ability, failure: { code: 'no', message: 'No.' } });
    await send();
    return received.at(-1)?.event.text;
  };
  expect(await refuse('refund')).toContain('Stripe: refunds refused');
  expect(await refuse('cancel')).toContain('Stripe: cancellations refused');
  expect(await refuse('credentials')).toContain('Stripe rejected the credentials');
  expect(received).toHaveLength(3);
  await service.deps.db.processorAccount.updateMany({
    where,
    data: { abilities: {}, misconfiguredAt: null },
  });
});

test('channels of another organization and of the other environment get nothing', async () => {
  const { id } = await createOrganization(service.deps, { name: 'Other', actor: 'test' });
  const [own, other, live] = [await newChannel(), await newChannel(id), await newReceiver()];
  await setChannel(service.deps, { ...change(), environment: 'live', url: live.url });
  await pendingRefund(service);
  await send();
  expect([own, other, live].map(({ received }) => received.length)).toEqual([1, 0, 0]);
});

test('a message that the channel answers with 500 is sent again until it is accepted', async () => {
  const receiver = await newChannel();
  receiver.respond = responses.fail;
  await pendingRefund(service);
  await send();
  const waiting = await service.deps.db.notification.findMany({ where: { dueAt: { not: null } } });
  expect(waiting).toMatchObject([{ attempts: 1, sentAt: null }]);
  receiver.respond = responses.accept;
  await send();
  await send();
  expect(receiver.received).toHaveLength(2);
});

test('a channel that has accepted nothing for an hour needs attention until it accepts a message', async () => {
  const { db } = service.deps;
  const receiver = await newChannel();
  const failing = async () =>
    (await readNeedsAttention(db, { organizationId: service.organization.id, environment: 'test' }))
      .failingReceivers;
  receiver.respond = responses.fail;
  await pendingRefund(service);
  await send();
  expect(await failing()).toEqual([]);
  const { failingSince: first } = await db.notificationChannel.findFirstOrThrow();
  expect(first).not.toBeNull();
  await db.notification.updateMany({ where: { dueAt: { not: null } }, data: { dueAt: new Date(0) } });
  await runTasks(notifier);
  // The next failure is not the first.
  expect((await db.notificationChannel.findFirstOrThrow()).failingSince).toEqual(first);
  await db.notificationChannel.updateMany({ data: { failingSince: hourAgo() } });
  expect(await failing()).toMatchObject([{ kind: 'channel', address: expect.stringContaining('127.0.0.1') }]);
  receiver.respond = responses.accept;
  await send();
  expect(await failing()).toEqual([]);
});

test('what a merchant must do is posted: a disputed payment, a failing endpoint, a batch with rejected rows', async () => {
  const { db } = service.deps;
  const { received } = await newChannel();
  const id = await pendingRefund(service);
  const { transactionId } = await db.refund.findUniqueOrThrow({ where: { id } });
  await db.payment.updateMany({
    where: { names: { some: { name: transactionId } } },
    data: { disputedAt: new Date() },
  });
  const { body: endpoint } = await service.call('POST', '/v1/webhook-endpoints', {
    body: { url: 'https://shop.test/hooks' },
  });
  await db.webhookEndpoint.updateMany({ data: { failingSince: hourAgo() } });
  const rows = [
    { transactionId, amount: 0, reason: 'other' },
    { transactionId, amount: 1, reason: 'other' },
  ];
  const { body: batch } = await service.call('POST', '/v1/refund-batches?mode=partial', { body: { rows } });
  await db.refundBatch.updateMany({ data: { status: 'completed', completedAt: new Date(), dueAt: null } });
  await send();
  const text = received.map(({ event }) => event.text).join('\n');
  const base = `https://refunds.test/dashboard/${service.organization.id}/test`;
  for (const line of [
    `<${base}/payments/${transactionId}|Payment ${transactionId} is disputed, and a refund of it is open>`,
    `<${base}/webhooks/${endpoint.data.id}|Webhook endpoint at shop.test has accepted no event for an hour>`,
    `<${base}/batches/${batch.data.id}|A refund batch has finished, and 1 row was rejected>`,
  ])
    expect(text).toContain(line);
  await db.webhookEndpoint.deleteMany();
});

test('in production a channel at a private address is refused, as it is set and as it is posted to', async () => {
  const receiver = await newReceiver();
  const url = receiver.url.replace('http:', 'https:');
  const settings = { ...service.settings, NODE_ENV: 'production' };
  await expect(setChannel({ ...service.deps, settings }, { ...change(), url })).rejects.toThrow(
    'url: must not be a private, local or reserved address.',
  );
  await setChannel(service.deps, { ...change(), url });
  await pendingRefund(service);
  const guarded = open({ NODE_ENV: 'production' });
  await send(guarded);
  await guarded.close();
  expect(receiver.connections).toBe(0);
  const waiting = await service.deps.db.notification.findMany({ where: { dueAt: { not: null } } });
  expect(waiting).toMatchObject([{ attempts: 1 }]);
});

test('a message to a channel escapes what someone entered', async () => {
  const { received } = await newChannel();
  await service.newKey({ name: '<!channel> & co' });
  await send();
  expect(received.map(({ body }) => body).join()).toContain('API key &lt;!channel&gt; &amp; co');
});

test('what waits for a channel that is removed is not sent', async () => {
  const { received } = await newChannel();
  await requestChannelTest(service.deps, change());
  await removeChannel(service.deps, change());
  await send();
  expect(received).toEqual([]);
  expect(await service.deps.db.notification.count({ where: { dueAt: { not: null } } })).toBe(0);
});

test('an admin sets a channel, whose URL is not shown again, sends a test and removes it', async () => {
  const { db } = service.deps;
  const { visitor } = await signInMember(service, 'admin');
  const path = `/dashboard/${service.organization.id}/test/settings/notifications`;
  expect((await visitor.post(path, { url: 'slack.example' })).text).toContain('Must begin with https://');
  const receiver = await newReceiver();
  const url = `${receiver.url}/secret-part`;
  expect((await visitor.post(path, { url })).status).toBe(303);
  const { id, encryptedUrl } = await db.notificationChannel.findFirstOrThrow();
  expect(Buffer.from(encryptedUrl).toString('latin1')).not.toContain('secret-part');
  expect((await visitor.post(`${path}/test`)).status).toBe(303);
  expect((await visitor.get(path)).text).toContain('Waiting to be sent');
  await runTasks(notifier);
  expect(receiver.received.map(({ event }) => event.text)).toEqual([
    `<https://refunds.test${path}|[Test organization, test] Test: notifications arrive here>`,
  ]);
  const { text } = await visitor.get(path);
  expect(text).toContain(`127.0.0.1:${receiver.port}`);
  expect(text).toContain('Accepted');
  expect(text).not.toContain('secret-part');
  expect((await visitor.post(`${path}/remove`)).status).toBe(303);
  expect(await db.notificationChannel.count()).toBe(0);
  const entries = await auditOf(service, id);
  expect(entries.map(({ action }) => action).toSorted()).toEqual([
    'notification_channel.removed',
    'notification_channel.set',
    'notification_channel.tested',
  ]);
  expect(JSON.stringify(entries)).not.toContain('secret-part');
});
