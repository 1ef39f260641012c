import { expect, test } from 'vitest';
import { createUser } from '../../shared/people/users.ts';
import { DashboardVisitor } from '../harness/dashboard-visitor.ts';
import { useService } from '../harness/use-service.ts';

const service = useService({ workers: 0, settings: { LOG_LEVEL: 'error' } });
test('smoke', async () => {
  const v = new DashboardVisitor(service);
  let page = await v.get('/dashboard');
  console.log(page.status, page.headers.location, page.headers['content-security-policy']);
  page = await v.get('/dashboard/sign-in');
  console.log(page.status, page.headers.location);
  page = await v.get('/dashboard/set-up');
  console.log(page.status, page.text);
  await createUser(service.deps, { organizationId: service.organization.id, email: 'ada@example.com', password: 'correct horse battery', role: 'owner', actor: 'test' });
  page = await v.get('/dashboard/sign-in');
  console.log(page.status, page.text);
  page = await v.signIn('ada@example.com', 'wrong');
  console.log(page.status, page.text.slice(0, 300));
  page = await v.signIn('ada@example.com', 'correct horse battery');
  console.log(page.status, page.headers);
  page = await v.get('/dashboard/you');
  console.log(page.status, page.text);
  page = await v.get('/dashboard');
  console.log(page.status, page.headers.location);
  page = await v.post('/dashboard/sign-out');
  console.log(page.status, page.text, page.headers.location);
  expect(1).toBe(1);
});
