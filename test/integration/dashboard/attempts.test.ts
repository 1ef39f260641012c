import { expect, onTestFinished, test, vi } from 'vitest';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
const limited = useService({ workers: 0, settings: { RATE_LIMIT_PER_SECOND: 1_000 } });

test.each([
  '/dashboard/set-up',
  '/dashboard/invitation/made-up',
  '/dashboard/you/password',
  '/dashboard/sign-in',
  '/dashboard/sign-in/code',
])('%s accepts sixty attempts per minute and IP address', async (url) => {
  const { visitor } = await signInMember(service, 'viewer');
  const statuses: number[] = [];
  for (let count = 0; count <= 60; count += 1) statuses.push((await visitor.post(url)).status);
  expect(statuses).toContain(429);
  expect(statuses.slice(0, 50)).not.toContain(429);
  const refused = await visitor.post(url);
  expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '60' } });
  expect(refused.text).toContain('Try again in a minute.');
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
