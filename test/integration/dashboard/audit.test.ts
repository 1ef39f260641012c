import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { openLog } from '../../../shared/platform/log.ts';
import { type DashboardMember, signInMember } from '../../support/dashboard/dashboard-member.ts';
import { DashboardVisitor } from '../../support/dashboard/dashboard-visitor.ts';
import { sendHeld } from '../../support/dashboard/held-request.ts';
import { useService } from '../../support/use-service.ts';

const logged: string[] = [];
const log = openLog('info', 'test', { write: (line) => logged.push(line) });
const service = useService({ workers: 0, overrides: { log } });

/** What a person has done, in one organization, oldest first. */
async function actsOf({ userId }: DashboardMember, organizationId = service.organization.id) {
  return await service.deps.db.auditLog.findMany({
    where: { organizationId, actor: `user:${userId}` },
    orderBy: { id: 'asc' },
  });
}

async function actionsOf(person: DashboardMember): Promise<string[]> {
  return (await actsOf(person)).map(({ action }) => action);
}

/** Makes somebody a member of every organization of the installation. */
async function addEverywhere({ userId }: DashboardMember): Promise<string[]> {
  const { db } = service.deps;
  const all = await db.organization.findMany();
  const data = all.map(({ id }) => ({ organizationId: id, userId, role: 'operator' as const }));
  await db.membership.createMany({ data, skipDuplicates: true });
  return all.map(({ id }) => id);
}

describe('the audit log has', () => {
  test('who signed in, who ended a session and who signed out', async () => {
    const person = await signInMember(service, 'viewer');
    const other = new DashboardVisitor(service);
    const { id } = await sessionOf(person);
    await other.signIn(person.email, person.password);
    await other.get('/dashboard/you');
    await other.post(`/dashboard/you/sessions/${id}/end`);
    await other.post('/dashboard/sign-out');
    expect(await actionsOf(person)).toEqual([
      ...['user.signed_in', 'user.signed_in'],
      ...['session.revoked', 'user.signed_out'],
    ]);
  });

  test('that somebody signs out by signing in as somebody else', async () => {
    const [person, next] = [await signInMember(service, 'viewer'), await signInMember(service, 'viewer')];
    const { id } = await sessionOf(person);
    await person.visitor.signIn(next.email, next.password);
    expect((await actsOf(person)).at(-1)).toMatchObject({ action: 'user.signed_out', target: id });
    expect(await actionsOf(next)).toEqual(['user.signed_in', 'user.signed_in']);
  });

  test('a changed password once, and no signing in for the cookie that comes with it', async () => {
    const person = await signInMember(service, 'viewer');
    const fields = { current: person.password, next: 'a password of my own' };
    const answer = await person.visitor.post('/dashboard/you/password', fields);
    expect(answer.headers.location).toBe('/dashboard/you?done=password');
    expect(await actionsOf(person)).toEqual(['user.signed_in', 'user.password_changed']);
  });

  test('what somebody orders on the board of the queues, in every organization', async () => {
    await service.addOrganization('Second');
    const person = await signInMember(service, 'operator');
    const everywhere = await addEverywhere(person);
    expect(everywhere.length).toBeGreaterThan(1);
    const order = async (path: string) =>
      await service.app.inject({
        method: 'PUT',
        url: `/dashboard/queues/api/queues/${path}`,
        headers: { cookie: person.visitor.cookie, 'sec-fetch-site': 'same-origin' },
      });
    expect((await order('refunds-braintree/promote')).statusCode).toBe(200);
    await order('refunds-stripe/4242424242424242%07x/retry');
    expect((await order('no-such-queue/promote')).statusCode).toBe(404);
    for (const organizationId of everywhere) {
      const orders = (await actsOf(person, organizationId)).filter(
        ({ target }) => !target.startsWith('ses_'),
      );
      expect(orders.map(({ action, target, detail }) => ({ action, target, detail }))).toEqual([
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

  test('no order that may not be given', async () => {
    const person = await signInMember(service, 'operator');
    await addEverywhere(person);
    const url = '/dashboard/queues/api/queues/refunds-braintree/promote';
    const { cookie } = person.visitor;
    const answer = await service.app.inject({ method: 'PUT', url, headers: { cookie } });
    expect(answer.statusCode).toBe(403);
    expect(await actionsOf(person)).toEqual(['user.signed_in']);
  });
});

describe('an order on the board that is held back is not carried out, nor in the audit log,', () => {
  test.each<[string, (userId: string) => Promise<unknown>]>([
    [
      'when the role has gone in one organization',
      (userId) =>
        service.deps.db.membership.updateMany({
          where: { userId, organizationId: service.organization.id },
          data: { role: 'viewer' },
        }),
    ],
    [
      'when the person is removed everywhere',
      (userId) => service.deps.db.membership.deleteMany({ where: { userId } }),
    ],
    ['when the session has ended', (userId) => service.deps.db.session.deleteMany({ where: { userId } })],
  ])('%s meanwhile', async (_, takeAway) => {
    const person = await signInMember(service, 'operator');
    await addEverywhere(person);
    const promoted = vi.spyOn(BullMQAdapter.prototype, 'promoteAll');
    onTestFinished(() => promoted.mockRestore());
    const order = { method: 'PUT', url: '/dashboard/queues/api/queues/refunds-braintree/promote' } as const;
    const answer = await sendHeld(service, person.visitor, order, () => takeAway(person.userId));
    expect(answer.statusCode).toBe(403);
    expect(promoted).not.toHaveBeenCalled();
    const orders = { actor: `user:${person.userId}`, action: { startsWith: 'queue.' } };
    expect(await service.deps.db.auditLog.count({ where: orders })).toBe(0);
  });
});

test('a refused sign-in is in the log, under the name of its request', async () => {
  const person = await signInMember(service, 'viewer');
  logged.length = 0;
  const page = await person.visitor.signIn(person.email, 'not the password at all');
  expect(page.status).toBe(401);
  const lines = logged.map((line) => JSON.parse(line));
  const refusal = lines.find(({ msg }) => msg === 'an attempt was refused: wrong');
  expect(refusal).toMatchObject({ level: 40, userId: person.userId, reqId: page.headers['x-request-id'] });
  expect(logged.join('')).not.toContain(person.email);
});

async function sessionOf({ userId }: DashboardMember) {
  return await service.deps.db.session.findFirstOrThrow({ where: { userId } });
}
