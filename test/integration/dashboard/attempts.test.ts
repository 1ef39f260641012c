import { expect, onTestFinished, test, vi } from 'vitest';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { DashboardVisitor } from '../../support/dashboard/dashboard-visitor.ts';
import { newPerson } from '../../support/people.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
const limited = useService({ workers: 0, settings: { RATE_LIMIT_PER_SECOND: 1_000 } });

test.each(['/dashboard/set-up', '/dashboard/invitation/made-up', '/dashboard/you/password'])(
  '%s accepts sixty attempts per minute and IP address',
  async (url) => {
    const { visitor } = await signInMember(service, 'viewer');
    const statuses: number[] = [];
    for (let count = 0; count <= 60; count += 1) statuses.push((await visitor.post(url)).status);
    expect(statuses).toContain(429);
    expect(statuses.slice(0, 50)).not.toContain(429);
    const refused = await visitor.post(url);
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '60' } });
    expect(refused.text).toContain('Try again in a minute.');
  },
);

test('closes an invitation neither for other invitations nor a form for other users at the same address', async () => {
  const address = '192.0.2.77';
  const [flooding, other] = [new DashboardVisitor(service, address), new DashboardVisitor(service, address)];
  const people = await Promise.all(
    [1, 2].map(() => newPerson(service.deps, service.organization.id, 'viewer')),
  );
  for (const [at, visitor] of [flooding, other].entries()) {
    const { email = '', password = '' } = people[at] ?? {};
    expect((await visitor.signIn(email, password)).status).toBe(303);
    await visitor.get('/dashboard/you');
  }
  for (const url of ['/dashboard/invitation/made-up', '/dashboard/you/password']) {
    for (let count = 0; count < 60; count += 1) await flooding.post(url);
    expect((await flooding.post(url)).status).toBe(429);
  }
  expect((await other.post('/dashboard/invitation/another')).status).toBe(404);
  expect((await other.post('/dashboard/you/password')).status).toBe(400);
});

test('counts the requests of a user for pages and the queue board together', async () => {
  const { visitor } = await signInMember(limited, 'operator');
  const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now());
  onTestFinished(() => clock.mockRestore());
  const remaining = async (url: string) => Number((await visitor.get(url)).headers['ratelimit-remaining']);
  const before = await remaining('/dashboard/you');
  expect(await remaining('/dashboard/queues')).toBe(before - 1);
  expect(await remaining('/dashboard/you')).toBe(before - 2);
});
