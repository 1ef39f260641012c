import { expect, test } from 'vitest';
import { signInMember } from '../harness/dashboard-member.ts';
import { useService } from '../harness/use-service.ts';

const service = useService({ workers: 0 });

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
