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
])('%s takes sixty tries a minute from one address on the network', async (url) => {
  const { visitor } = await signInMember(service, 'viewer');
  const statuses: number[] = [];
  for (let count = 0; count <= 60; count += 1) statuses.push((await visitor.post(url)).status);
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
  expect(statuses.slice(0, 50)).not.toContain(429);
  const refused = await visitor.post(url);
  expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '60' } });
  expect(refused.text).toContain('Wait a minute and repeat.');
});

test('the pages and the board of the queues count the requests of a person together', async () => {
  const { visitor } = await signInMember(limited, 'viewer');
  const second = Date.now();
  const machine = vi.spyOn(Date, 'now').mockReturnValue(second);
  onTestFinished(() => machine.mockRestore());
  const left = async (url: string) => Number((await visitor.get(url)).headers['ratelimit-remaining']);
  const before = await left('/dashboard/you');
  expect(await left('/dashboard/queues')).toBe(before - 1);
  expect(await left('/dashboard/you')).toBe(before - 2);
});
