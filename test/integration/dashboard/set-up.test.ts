import { expect, test } from 'vitest';
import { setupCode } from '../../../shared/people/first-owner.ts';
import { DashboardVisitor } from '../../support/dashboard/dashboard-visitor.ts';
import { useService } from '../../support/use-service.ts';

const service = useService();

test.each([
  ['code', { code: 'AAAA-BBBB-CCCC' }, 'Not the set-up code'],
  ['organizationName', { organizationName: ' ' }, 'Has to be 1 to 200 printable characters'],
  ['email', { email: 'nobody' }, 'e-mail address'],
  ['password', { password: 'short' }, 'Has to be 12 to 128 characters'],
])('the set-up tells what is wrong with the field %s at that field', async (field, change, words) => {
  const visitor = new DashboardVisitor(service);
  await visitor.get('/dashboard/set-up');
  const right = {
    code: setupCode(service.deps.settings.ENCRYPTION_KEY),
    organizationName: 'Acme Inc',
    email: 'owner@example.com',
    password: 'the first password',
  };
  const page = await visitor.post('/dashboard/set-up', { ...right, ...change });
  expect(page.status).toBe(400);
  const problems = [...page.text.matchAll(/<p class="problem" id="(\w+)-problem">([^<]*)/g)];
  expect(problems.map(([, name]) => name)).toEqual([field]);
  expect(problems[0]?.[2]).toContain(words);
});
