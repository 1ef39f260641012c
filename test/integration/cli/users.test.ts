import { describe, expect, test } from 'vitest';
import { setupCode } from '#shared/people/members/first-owner.ts';
import { findMembership } from '#shared/people/members/memberships.ts';
import { signIn } from '#shared/people/sign-in/sign-in.ts';
import { auditOf } from '../../support/audit-log.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { DashboardVisitor } from '../../support/dashboard/dashboard-visitor.ts';
import { hiddenField, setUpSecondFactor } from '../../support/dashboard/second-factor.ts';
import { newEmail } from '../../support/people.ts';
import { adminCliOf, onlyLine } from '../../support/processes/admin-cli.ts';
import { expectNotInDatabase } from '../../support/stores/database-content.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
const admin = adminCliOf(service);

const user = (command: string, email: string, ...more: string[]) =>
  admin(['user', command, '--organization', service.organization.id, '--email', email, ...more]);
const add = (email: string, role: string) => user('add', email, '--role', role);

async function userOf(email: string) {
  return await service.deps.db.user.findFirstOrThrow({ where: { email } });
}

describe('the user commands', () => {
  test('print the set-up code only while there is no user', async () => {
    const { stdout } = await admin(['user', 'set-up-code']);
    expect(onlyLine(stdout)).toBe(setupCode(service.settings.ENCRYPTION_KEY));
    await add(newEmail(), 'owner');
    expect(await admin(['user', 'set-up-code'])).toMatchObject({ code: 0, stdout: '' });
    await service.deps.db.membership.deleteMany();
    await service.ownerDb.user.deleteMany();
  });

  test('add a user with a generated password that is shown once', async () => {
    const email = newEmail();
    const added = await add(` ${email.toUpperCase()} `, 'owner');
    expect(added.code, added.stderr).toBe(0);
    const password = onlyLine(added.stdout);
    expect(password).toMatch(/^[\w-]{20}$/);
    expect(added.stderr).not.toContain(password);
    expect((await signIn(service.deps, { email, password })).kind).toBe('signed-in');
    await expectNotInDatabase(service.databaseUrl, password);
    const listed = await admin(['user', 'list', '--organization', service.organization.id, '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ email, role: 'owner' }]);
    expect(listed.stdout).not.toMatch(/argon2|hash/i);
    const { id, passwordHash } = await userOf(email);
    expect(passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    const [entry] = await auditOf(service, id);
    expect(entry).toMatchObject({ action: 'user.created', actor: expect.stringMatching(/^cli:./) });
  });

  test('take a password from stdin without printing it', async () => {
    const email = newEmail();
    const password = 'a password from a manager';
    const args = ['user', 'add', '--organization', service.organization.id, '--email', email];
    const added = await admin([...args, '--role', 'viewer', '--password-stdin'], `${password}\n`);
    expect(added).toMatchObject({ code: 0, stdout: '' });
    expect((await signIn(service.deps, { email, password })).kind).toBe('signed-in');
    const refused = await user('reset-password', email, '--password-stdin');
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(onlyLine(refused.stderr)).toMatch(/12 to 128/);
    const generated = onlyLine((await user('reset-password', email)).stdout);
    expect((await signIn(service.deps, { email, password: generated })).kind).toBe('signed-in');
  });

  test('invite an existing user, who keeps the password, instead of adding them', async () => {
    const email = newEmail();
    const password = onlyLine((await add(email, 'viewer')).stdout);
    const { id: elsewhere } = await service.addOrganization('Elsewhere');
    const args = ['user', 'add', '--organization', elsewhere, '--email', email, '--role', 'admin'];
    const added = await admin(args);
    expect(added.code, added.stderr).toBe(0);
    expect(added.stderr).toContain('already has a user');
    const { id } = await userOf(email);
    expect(await findMembership(service.deps.db, id, elsewhere)).toBeNull();
    const link = onlyLine(added.stdout);
    const visitor = new DashboardVisitor(service);
    expect((await visitor.post(link, { password: 'another long password' })).status).toBe(400);
    await visitor.signIn(email, password);
    expect((await visitor.post(link)).status).toBe(303);
    expect(await findMembership(service.deps.db, id, elsewhere)).toMatchObject({ role: 'admin' });
    expect((await signIn(service.deps, { email, password })).kind).toBe('signed-in');
  });

  test('reset a second factor, end sessions and clear the lockouts, with an entry in the audit log', async () => {
    const { visitor, userId, email, password } = await signInMember(service, 'viewer');
    const none = await user('reset-second-factor', email);
    expect(none.code).toBe(1);
    expect(onlyLine(none.stderr)).toBe('This user has no second factor.');
    await setUpSecondFactor(visitor, service.deps.clock);
    const newBrowser = new DashboardVisitor(service);
    const asked = await newBrowser.signIn(email, password);
    expect(asked.text).toContain('Enter your code');
    for (let guess = 0; guess < 5; guess += 1) {
      const fields = { proof: hiddenField(asked.text, 'proof'), code: 'wrong' };
      await newBrowser.post('/dashboard/sign-in/code', fields, { csrfToken: null });
    }
    const { db } = service.deps;
    const locked = () => db.lockout.count({ where: { lockedUntil: { not: null } } });
    const lockedBefore = await locked();
    const reset = await user('reset-second-factor', email);
    expect(reset, reset.stderr).toMatchObject({ code: 0, stdout: '' });
    expect(await db.session.count({ where: { userId } })).toBe(0);
    expect(await locked()).toBe(lockedBefore - 1);
    expect((await auditOf(service, userId)).at(-1)).toMatchObject({
      action: 'user.second_factor_reset',
      actor: expect.stringMatching(/^cli:./),
    });
    expect((await new DashboardVisitor(service).signIn(email, password)).status).toBe(303);
  });

  test('reset a second factor by the email address alone, audited in every organization of the user', async () => {
    const { visitor, userId, email } = await signInMember(service, 'viewer');
    const { id: elsewhere } = await service.addOrganization('Elsewhere');
    const { db } = service.deps;
    await db.membership.create({ data: { organizationId: elsewhere, userId, role: 'viewer' } });
    await setUpSecondFactor(visitor, service.deps.clock);
    const { id: other } = await service.addOrganization('Without the user');
    const args = ['user', 'reset-second-factor', '--email', email];
    expect(onlyLine((await admin([...args, '--organization', other])).stderr)).toBe('Member not found.');
    expect(await admin(args)).toMatchObject({ code: 0, stdout: '' });
    const where = { action: 'user.second_factor_reset', target: userId };
    const entries = await db.auditLog.findMany({ where });
    expect(entries.map(({ organizationId }) => organizationId).toSorted()).toEqual(
      [service.organization.id, elsewhere].toSorted(),
    );
  });
});
