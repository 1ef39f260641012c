import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { readNeedsAttention } from '#shared/insights/needs-attention.ts';
import { requestChannelTest, setChannel } from '#shared/notifications/channel.ts';
import { createOrganization } from '#shared/organizations/create-organization.ts';
import { newId } from '#shared/platform/ids.ts';
import { openMailer } from '#worker/notify/mail.ts';
import { retention } from '#worker/schedule/retention.ts';
import { startSchedule } from '#worker/schedule/schedule.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { DashboardVisitor } from '../../support/dashboard/dashboard-visitor.ts';
import { alwaysDue } from '../../support/looks.ts';
import { pendingRefund, useNotifications } from '../../support/notifications/notification-stage.ts';
import { newPerson } from '../../support/people.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';
import { responses, useReceivers } from '../../support/webhooks/receivers.ts';

const service = useService({ workers: 0 });
const stage = useNotifications(service);
const newReceiver = useReceivers();

const addPerson = (role: 'owner' | 'operator' | 'viewer', organizationId = service.organization.id) =>
  newPerson(service.deps, organizationId, role);

afterEach(async () => {
  await service.deps.db.refund.updateMany({ where: { status: 'pending' }, data: { status: 'cancelled' } });
  await service.deps.db.membership.deleteMany();
});

test('an approval is mailed with a link that opens the refund after sign-in', async () => {
  const { email, password } = await addPerson('operator');
  const refundId = await pendingRefund(service);
  await stage.run();
  expect(stage.mailsTo(email)).toEqual([]);
  await stage.send();
  const [mail, ...others] = stage.mailsTo(email);
  expect(others).toEqual([]);
  expect(mail?.subject).toBe('[Test organization, test] Refund of 10.00 USD awaits approval');
  const [link = ''] = /https:\/\/refunds\.test(\S+)/.exec(mail?.text ?? '') ?? [];
  expect(mail?.html).toContain(`href="${link}"`);
  const visitor = new DashboardVisitor(service);
  const signIn = (await visitor.get(new URL(link).pathname)).headers.location ?? '';
  const next = new URL(signIn, link).searchParams.get('next') ?? '';
  const { headers } = await visitor.post(
    '/dashboard/sign-in',
    { email, password, next },
    { csrfToken: null },
  );
  const page = await visitor.get(headers.location ?? '');
  expect(page.status).toBe(200);
  expect(page.text).toContain(refundId);
});

test('31 approvals at once are one mail', async () => {
  const { email } = await addPerson('operator');
  await Promise.all(Array.from({ length: 31 }, () => pendingRefund(service)));
  await stage.send();
  await stage.send();
  const [mail, ...others] = stage.mailsTo(email);
  expect(others).toEqual([]);
  expect(mail?.subject).toBe('[Test organization, test] 31 refunds await approval');
  expect(mail?.text).toMatch(/and 11 more\nhttps:\S+\/approvals/);
});

test('a mail that the server does not take is sent once when it does, under the same Message-ID', async () => {
  const { email } = await addPerson('operator');
  await pendingRefund(service);
  stage.server.refuseNext = 2;
  await stage.send();
  const [waiting] = await service.deps.db.notification.findMany({ where: { dueAt: { not: null } } });
  expect(waiting).toMatchObject({ attempts: 1, sentAt: null });
  await stage.send();
  await pendingRefund(service);
  expect(stage.mailsTo(email)).toEqual([]);
  await stage.send();
  await stage.send();
  const mails = stage.mailsTo(email);
  expect(mails.map(({ subject }) => subject)).toEqual(
    Array(2).fill('[Test organization, test] Refund of 10.00 USD awaits approval'),
  );
  expect(mails.map(({ messageId }) => messageId)).toContain(`<${waiting?.messageId}@refunds.test>`);
});

test('a mail to an address that the server refuses for good is not repeated, and Members shows that until one arrives', async () => {
  const [reader, { email, userId }] = [await signInMember(service, 'owner'), await addPerson('operator')];
  const warn = vi.spyOn(service.deps.log, 'warn');
  const members = async () =>
    (await reader.visitor.get(`/dashboard/${service.organization.id}/test/settings/members`)).text;
  stage.server.unknown.add(email);
  await pendingRefund(service);
  await stage.send();
  const rows = await service.deps.db.notification.findMany({ where: { recipient: userId } });
  expect(rows).toMatchObject([{ attempts: 1, dueAt: null, sentAt: null }]);
  expect(await members()).toContain('Mail refused');
  expect(JSON.stringify(warn.mock.calls)).not.toContain(email);
  stage.server.unknown.clear();
  await pendingRefund(service);
  await stage.send();
  expect(stage.mailsTo(email)).toHaveLength(1);
  expect(await members()).not.toContain('Mail refused');
});

test('an invitation to an address that the server refuses for good is marked', async () => {
  const { visitor } = await signInMember(service, 'owner');
  const email = `${newId('usr')}@example.com`;
  stage.server.unknown.add(email);
  const page = `/dashboard/${service.organization.id}/test/settings/members`;
  await visitor.get(page);
  await visitor.post(`${page}/invitations`, { email, role: 'viewer' });
  await stage.send();
  const invitation = await service.deps.db.invitation.findFirstOrThrow({ where: { email } });
  expect(invitation.mailRefusedAt).not.toBeNull();
  expect((await visitor.get(page)).text).toContain('Mail refused');
});

test('a channel that is gone gets nothing more, and the admins are notified by mail', async () => {
  const { organization, deps } = service;
  const { email } = await addPerson('owner');
  const receiver = await newReceiver();
  const owner = { organizationId: organization.id, environment: 'test', actor: 'test' } as const;
  for (const status of [404, 410]) {
    await setChannel(deps, { ...owner, url: receiver.url });
    receiver.respond = (response) => response.writeHead(status).end();
    receiver.received.splice(0);
    await pendingRefund(service);
    await stage.send();
    await stage.send();
    expect([status, receiver.received.length]).toEqual([status, 1]);
    const told = stage.mailsTo(email).filter(({ text }) => text?.includes('is gone'));
    expect(told).toHaveLength(status === 404 ? 1 : 2);
    await pendingRefund(service);
    await stage.send();
    expect(receiver.received).toHaveLength(1);
  }
  const { actor: _, ...environment } = owner;
  const needs = await readNeedsAttention(deps.db, environment);
  expect(needs.failingReceivers).toMatchObject([{ kind: 'gone channel' }]);
  await deps.db.notificationChannel.deleteMany();
});

test('a mail whose server never ends its answer is given up', async () => {
  const server = createServer((socket) => {
    socket.write('220 mail\r\n');
    const drip = setInterval(() => socket.write('250-mail\r\n'), 20);
    socket.on('error', () => {}).on('close', () => clearInterval(drip));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const mailer = openMailer({ ...service.settings, SMTP_URL: `smtp://127.0.0.1:${port}` });
  const { timeout } = AbortSignal;
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout(ms / 1_000));
  const message = { subject: 'Hello', lines: [], closing: '' };
  await expect(mailer?.send('a@example.com', message, 'msg_1')).rejects.toThrow(/abort/i);
  vi.restoreAllMocks();
  mailer?.close();
  server.close();
});

test.each([
  ['rate_limited', 'Stripe takes no more requests of the account for now', 2],
  ['processor_unreachable', 'Stripe does not answer', 4],
])('a mail about a processor that leaves refunds waiting (%s) says why', async (waitingFor, words, hours) => {
  const { email } = await addPerson('operator');
  const refundId = await pendingRefund(service);
  await service.deps.db.$transaction([
    service.deps.db.$executeRaw`UPDATE refund SET status = 'processing' WHERE id = ${refundId}`,
    service.deps.db.$executeRaw`
      INSERT INTO refund_work (refund_id, account_id, organization_id, environment, processor, due_at, retrying_since, waiting_for)
      SELECT id, account_id, organization_id, environment, processor, service_time() + interval '1 minute',
        service_time() - ${hours} * interval '1 hour', ${waitingFor} FROM refund WHERE id = ${refundId}`,
  ]);
  await stage.send();
  expect(stage.mailsTo(email).map(({ subject }) => subject)).toEqual([`[Test organization, test] ${words}`]);
  await service.deps.db.refundWork.delete({ where: { refundId } });
});

test('workers that look at the same time send each mail once', async () => {
  const { email } = await addPerson('operator');
  await pendingRefund(service);
  await Promise.all(Array.from({ length: 5 }, stage.run));
  await service.deps.db.notification.updateMany({ where: { sentAt: null }, data: { dueAt: new Date(0) } });
  await Promise.all(Array.from({ length: 5 }, stage.run));
  expect(stage.mailsTo(email)).toHaveLength(1);
});

test('a channel that does not answer holds up neither mails nor other channels', async () => {
  const { db } = service.deps;
  const { email } = await addPerson('operator');
  const { id: otherId } = await createOrganization(service.deps, { name: 'Other', actor: 'test' });
  const [hanging, other] = [await newReceiver(responses.hang), await newReceiver()];
  const environment = 'test' as const;
  for (const [organizationId, { url }] of [
    [service.organization.id, hanging],
    [otherId, other],
  ] as const) {
    await setChannel(service.deps, { organizationId, environment, actor: 'test', url });
    await requestChannelTest(service.deps, { organizationId, environment, actor: 'test' });
  }
  // More messages than are sent at once, which were tried before.
  await db.$executeRaw`
    INSERT INTO notification (id, kind, target, since, recipient, organization_id, environment, message_id, due_at, created_at)
    SELECT new_type_id('ntf', now()), kind, target, since - n * interval '1 s', recipient, organization_id, environment,
      'msg_' || n, due_at - interval '1 h', created_at
    FROM notification, generate_series(1, 40) AS n WHERE organization_id = ${service.organization.id} AND kind = 'channel_test'`;
  const schedule = startSchedule({ ...service.deps, looks: alwaysDue }, stage.tasks(10));
  await waitFor('both channels to be asked', () => hanging.received.length > 0 && other.received.length > 0);
  expect([hanging, other].map(({ received }) => received.length)).toEqual([1, 1]);
  const made = { target: await pendingRefund(service), recipient: { startsWith: 'usr_' } };
  await waitFor('the approval to be noted', () => db.notification.count({ where: made }));
  await db.notification.updateMany({ where: made, data: { dueAt: new Date(0) } });
  await waitFor('the mail', () => stage.mailsTo(email).length);
  await db.notificationChannel.deleteMany();
  await hanging.close();
  await schedule.close();
});

test('what was decided within the minute is not mailed', async () => {
  const { email } = await addPerson('operator');
  const refundId = await pendingRefund(service);
  await stage.run();
  await service.deps.db.refund.update({ where: { id: refundId }, data: { status: 'cancelled' } });
  await stage.send();
  expect(stage.mailsTo(email)).toEqual([]);
});

test('viewers, who requested it, and people of other organizations get no mail about an approval', async () => {
  const { id: otherId } = await createOrganization(service.deps, { name: 'Other', actor: 'test' });
  const requester = await addPerson('operator');
  const others = [await addPerson('viewer'), await addPerson('owner', otherId), requester];
  const operator = await addPerson('operator');
  const actor = `user:${requester.userId}`;
  await pendingRefund(service, { actor, initiatedBy: 'dashboard' });
  await stage.send();
  expect(stage.mailsTo(operator.email)).toHaveLength(1);
  expect(others.flatMap(({ email }) => stage.mailsTo(email))).toEqual([]);
});

test('a member who declined a kind for one organization gets the other kinds there, and all of another', async () => {
  const { id: otherId } = await createOrganization(service.deps, { name: 'Other', actor: 'test' });
  const { visitor, email, userId } = await signInMember(service, 'owner');
  await service.deps.db.membership.create({ data: { organizationId: otherId, userId, role: 'owner' } });
  const kept: [string, string][] = [
    ['kinds', 'approvals'],
    ['kinds', 'attention'],
  ];
  const { id: declining } = service.organization;
  await visitor.post(`/dashboard/you/mails/${declining}`, kept);
  expect((await visitor.get('/dashboard/you')).text.match(/value="keys" checked/g)).toHaveLength(1);
  for (const organizationId of [declining, otherId]) await service.newKey({ organizationId });
  await pendingRefund(service);
  await stage.send();
  expect(stage.mailsTo(email).map(({ subject }) => subject)).toEqual(
    expect.arrayContaining([
      '[Test organization, test] Refund of 10.00 USD awaits approval',
      expect.stringContaining('[Other, test]'),
    ]),
  );
  expect(stage.mailsTo(email)).toHaveLength(2);
  expect((await visitor.post(`/dashboard/you/mails/${newId('org')}`, kept)).status).toBe(404);
});

test('a mail escapes names, and holds no secret or card number that someone entered', async () => {
  const { email } = await addPerson('owner');
  const secret = `svc_live_${'a'.repeat(32)}`;
  const name = `<b>x</b> ${secret} 4242 4242 4242 4242`;
  await service.newKey({ environment: 'live', name });
  await stage.send();
  const mail = stage.mailsTo(email).find(({ subject }) => !subject?.includes(', test]'));
  const { text = '', html = '', subject = '' } = mail ?? {};
  expect(text).toContain('API key <b>x</b> svc_live_[redacted]');
  expect(html).toContain('&#60;b&#62;x');
  expect(`${subject} ${text} ${html}`).not.toMatch(/aaaaaaaa|4242 4242/);
});

test('notifications are deleted after 30 days', async () => {
  const { db } = service.deps;
  await addPerson('operator');
  await pendingRefund(service);
  await stage.send();
  await retention.expireNotifications(service.deps);
  expect(await db.notification.count()).toBeGreaterThan(0);
  await db.notification.updateMany({ data: { createdAt: new Date(Date.now() - 31 * 86_400_000) } });
  await retention.expireNotifications(service.deps);
  expect(await db.notification.count()).toBe(0);
});
