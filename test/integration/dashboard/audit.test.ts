import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openLog } from '#shared/platform/log.ts';
import { type DashboardMember, signInMember } from '../../support/dashboard/dashboard-member.ts';
import { sendHeld } from '../../support/held-request.ts';
import { useService } from '../../support/use-service.ts';

const logged: string[] = [];
const log = openLog('info', 'test', { write: (line) => logged.push(line) });
const service = useService({ workers: 0, overrides: { log } });
const promoteUrl = '/dashboard/queues/api/queues/refunds-braintree/promote';

/** The audit entries of a user in one organization, oldest first. */
async function entriesOf({ userId }: DashboardMember, organizationId = service.organization.id) {
  return await service.deps.db.auditLog.findMany({
    where: { organizationId, actor: `user:${userId}` },
    orderBy: { id: 'asc' },
  });
}

/** An operator of every organization of the installation. */
async function operatorEverywhere(): Promise<{ person: DashboardMember; organizationIds: string[] }> {
  const { db } = service.deps;
  const person = await signInMember(service, 'operator');
  const organizationIds = (await db.organization.findMany()).map(({ id }) => id);
  const { userId } = person;
  const data = organizationIds.map((organizationId) => ({
    organizationId,
    userId,
    role: 'operator' as const,
  }));
  await db.membership.createMany({ data, skipDuplicates: true });
  return { person, organizationIds };
}

test('the audit log records retries and promotions on the queue board in every organization', async () => {
  await service.addOrganization('Second');
  const { person, organizationIds } = await operatorEverywhere();
  expect(organizationIds.length).toBeGreaterThan(1);
  const put = async (path: string) =>
    await service.app.inject({
      method: 'PUT',
      url: `/dashboard/queues/api/queues/${path}`,
      headers: { cookie: person.visitor.cookie, 'sec-fetch-site': 'same-origin' },
    });
  expect((await put('refunds-braintree/promote')).statusCode).toBe(200);
  await put('refunds-stripe/4242424242424242%07x/retry');
  expect((await put('no-such-queue/promote')).statusCode).toBe(404);
  for (const organizationId of organizationIds) {
    const entries = await entriesOf(person, organizationId);
    const ofQueues = entries.filter(({ action }) => action.startsWith('queue.'));
    expect(ofQueues).toMatchObject([
      {
        ...{ action: 'queue.promotion_requested', target: 'refunds-braintree' },
        detail: { queue: 'refunds-braintree', job: 'all' },
      },
      {
        ...{ action: 'queue.retry_requested', target: 'refunds-stripe' },
        detail: { queue: 'refunds-stripe', job: '[digits redacted]x' },
      },
    ]);
  }
});

test.each<[string, (userId: string) => Promise<unknown>]>([
  [
    'the role is lost in one organization',
    (userId) =>
      service.deps.db.membership.updateMany({
        where: { userId, organizationId: service.organization.id },
        data: { role: 'viewer' },
      }),
  ],
  ['the user is removed', (userId) => service.deps.db.membership.deleteMany({ where: { userId } })],
  ['the session ends', (userId) => service.deps.db.session.deleteMany({ where: { userId } })],
])(
  'a promotion on the queue board is neither executed nor audited when %s while the request is delayed',
  async (_, takeAway) => {
    const { visitor, userId } = (await operatorEverywhere()).person;
    const promoted = vi.spyOn(BullMQAdapter.prototype, 'promoteAll');
    onTestFinished(() => promoted.mockRestore());
    const request = { method: 'PUT', url: promoteUrl } as const;
    expect((await sendHeld(service, visitor, request, () => takeAway(userId))).statusCode).toBe(403);
    expect(promoted).not.toHaveBeenCalled();
    const where = { actor: `user:${userId}`, action: { startsWith: 'queue.' } };
    expect(await service.deps.db.auditLog.count({ where })).toBe(0);
  },
);

test('logs a refused sign-in with its request id and without the address', async () => {
  const person = await signInMember(service, 'viewer');
  logged.length = 0;
  const page = await person.visitor.signIn(person.email, 'not the password at all');
  expect(page.status).toBe(401);
  const lines = logged.map((line) => JSON.parse(line));
  const refusal = lines.find(({ msg }) => msg === 'attempt refused: wrong');
  expect(refusal).toMatchObject({ level: 40, userId: person.userId, reqId: page.headers['x-request-id'] });
  expect(logged.join('')).not.toContain(person.email);
});
