import { expect, test } from 'vitest';
import { setupCode } from '#shared/people/members/first-owner.ts';
import { invite } from '#shared/people/members/invitations.ts';
import { DashboardVisitor } from '#test/support/dashboard/dashboard-visitor.ts';
import { newEmail, newPerson } from '#test/support/people.ts';
import { adminCliOf } from '#test/support/processes/admin-cli.ts';
import { useService } from '#test/support/use-service.ts';

const service = useService({ workers: 0 });
const untouched = useService({ workers: 0 });
const admin = adminCliOf(service);
const organizationName = 'Test organization';

/** Each form or command that sets a password: tries one, and returns the answer. */
const doors: Record<string, (password: string) => Promise<string>> = {
  async 'the set-up'(password) {
    const email = newEmail();
    const code = setupCode(untouched.deps.settings.ENCRYPTION_KEY);
    const form = { code, organizationName, email, password };
    return (await new DashboardVisitor(untouched).post('/dashboard/set-up', form)).text;
  },
  async 'an invitation'(password) {
    const email = newEmail();
    const { id: organizationId } = service.organization;
    const acting = { administration: 'test' };
    const { token } = await invite(service.deps, { organizationId, acting, email, role: 'viewer' });
    const form = { password };
    return (await new DashboardVisitor(service).post(`/dashboard/invitation/${token}`, form)).text;
  },
  async 'a password change'(password) {
    const person = await newPerson(service.deps, service.organization.id, 'viewer');
    const visitor = new DashboardVisitor(service);
    await visitor.signIn(person.email, person.password);
    await visitor.get('/dashboard/you');
    const form = { current: person.password, next: password };
    return (await visitor.post('/dashboard/you/password', form)).text;
  },
  async 'user add'(password) {
    const email = newEmail();
    const args = ['--organization', service.organization.id, '--email', email, '--password-stdin'];
    return (await admin(['user', 'add', ...args, '--role', 'viewer'], password)).stderr;
  },
  async 'user reset-password'(password) {
    const { email } = await newPerson(service.deps, service.organization.id, 'viewer');
    const args = ['--organization', service.organization.id, '--email', email, '--password-stdin'];
    return (await admin(['user', 'reset-password', ...args], password)).stderr;
  },
};

test.each(Object.keys(doors))('%s refuses the name of the organization as the password', async (door) => {
  expect(await doors[door]?.(organizationName.toUpperCase())).toMatch(
    /must not be the email address or the name of the organization/i,
  );
});

test.each([
  ['code', { code: 'AAAA-BBBB-CCCC' }, 'Is incorrect.'],
  ['organizationName', { organizationName: ' ' }, 'Must be 1 to 200 printable characters'],
  ['email', { email: 'nobody' }, 'Must be a valid email address.'],
  ['password', { password: 'short' }, 'Must be 12 to 128 characters'],
])('the set-up shows an error at the field %s', async (field, change, message) => {
  const code = setupCode(untouched.deps.settings.ENCRYPTION_KEY);
  const valid = { code, organizationName: 'Acme Inc', email: newEmail(), password: 'the first password' };
  const visitor = new DashboardVisitor(untouched);
  const page = await visitor.post('/dashboard/set-up', { ...valid, ...change });
  expect(page.status).toBe(400);
  const problems = [...page.text.matchAll(/<p class="problem" id="(\w+)-problem">([^<]*)/g)];
  expect(problems.map(([, name]) => name)).toEqual([field]);
  expect(problems[0]?.[2]).toContain(message);
});
