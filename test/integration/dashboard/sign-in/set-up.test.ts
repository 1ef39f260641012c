import { expect, test } from 'vitest';
import { setupCode } from '#shared/people/members/first-owner.ts';
import { DashboardVisitor } from '#test/support/dashboard/dashboard-visitor.ts';
import { useService } from '#test/support/use-service.ts';

const service = useService({ workers: 0 });

test.each([
  ['code', { code: 'AAAA-BBBB-CCCC' }, 'Is incorrect.'],
  ['organizationName', { organizationName: ' ' }, 'Must be 1 to 200 printable characters'],
  ['email', { email: 'nobody' }, 'Must be a valid email address.'],
  ['password', { password: 'short' }, 'Must be 12 to 128 characters'],
])('shows an error of the set-up at the field %s', async (field, change, message) => {
  const visitor = new DashboardVisitor(service);
  await visitor.get('/dashboard/set-up');
  const valid = {
    code: setupCode(service.deps.settings.ENCRYPTION_KEY),
    organizationName: 'Acme Inc',
    email: 'owner@example.com',
    password: 'the first password',
  };
  const page = await visitor.post('/dashboard/set-up', { ...valid, ...change });
  expect(page.status).toBe(400);
  const problems = [...page.text.matchAll(/<p class="problem" id="(\w+)-problem">([^<]*)/g)];
  expect(problems.map(([, name]) => name)).toEqual([field]);
  expect(problems[0]?.[2]).toContain(message);
});
