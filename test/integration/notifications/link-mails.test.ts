import { expect, test } from 'vitest';
import { newLinkToken } from '#shared/notifications/links.ts';
import { joinByCompany } from '#shared/people/company-sign-in/join.ts';
import { disableProvider, setProvider } from '#shared/people/company-sign-in/provider.ts';
import { countRequest } from '#shared/people/sign-in/lockout.ts';
import { retention } from '#worker/schedule/retention.ts';
import { HeldTime } from '../../support/clocks.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { DashboardVisitor } from '../../support/dashboard/dashboard-visitor.ts';
import { setUpSecondFactor } from '../../support/dashboard/second-factor.ts';
import { useNotifications } from '../../support/notifications/notification-stage.ts';
import { newEmail } from '../../support/people.ts';
import { useService } from '../../support/use-service.ts';

const time = new HeldTime();
const service = useService({ workers: 0, overrides: { clock: time } });
const stage = useNotifications(service);
const newPassword = 'a quite different password';
const signInPath = '/dashboard/sign-in';
const resetPath = '/dashboard/password-reset';

/** The path of the link in the only mail to an address. */
function linkTo(address: string): string {
  const [mail, ...others] = stage.mailsTo(address);
  expect(others).toEqual([]);
  const [, path = ''] = /https:\/\/refunds\.test(\S+)/.exec(mail?.text ?? '') ?? [];
  return path;
}

const requestReset = (email: string, visitor = new DashboardVisitor(service)) =>
  visitor.post(resetPath, { email }, { csrfToken: null });

async function resetLink(email: string): Promise<string> {
  await requestReset(email);
  await stage.run();
  return linkTo(email);
}

async function postInvitation(email: string) {
  const { visitor } = await signInMember(service, 'admin');
  const members = `/dashboard/${service.organization.id}/test/settings/members`;
  await visitor.get(members);
  return await visitor.post(`${members}/invitations`, { email, role: 'operator' });
}

async function inviteTo(email: string): Promise<string> {
  const page = await postInvitation(email);
  expect(page.text).toContain(`An invitation is on its way to ${email}`);
  return /\/dashboard\/invitation\/[\w-]+/.exec(page.text)?.[0] ?? '';
}

test('an invitation is mailed, and its link joins once, as does the link that the inviter sees', async () => {
  const email = newEmail();
  const shown = await inviteTo(email);
  stage.server.refuseNext = 1;
  await stage.run();
  expect(stage.mailsTo(email)).toEqual([]);
  await stage.send();
  const link = linkTo(email);
  expect(link).not.toBe(shown);
  expect((await new DashboardVisitor(service).get(shown)).status).toBe(200);
  const visitor = new DashboardVisitor(service);
  expect((await visitor.get(link)).text).toContain(email);
  const joined = await visitor.post(link, { password: newPassword });
  expect(joined.headers.location).toBe(`/dashboard/${service.organization.id}/test`);
  for (const used of [link, shown]) expect((await new DashboardVisitor(service).get(used)).status).toBe(404);
});

test('an invitation that was revoked before it could be mailed is not mailed', async () => {
  const email = newEmail();
  await inviteTo(email);
  await service.deps.db.invitation.updateMany({ where: { email }, data: { revokedAt: new Date() } });
  await stage.send();
  expect(stage.mailsTo(email)).toEqual([]);
});

test('an organization mails a hundred invitations a day at most', async () => {
  const subject = { mailedInvitationsOf: service.organization.id };
  const counts = Array.from({ length: 100 }, () => countRequest(service.deps, [subject]));
  await Promise.allSettled(counts);
  const email = newEmail();
  const refused = await postInvitation(email);
  expect([refused.status, refused.text]).toEqual([429, expect.stringContaining('Too many requests.')]);
  expect(await service.deps.db.invitation.count({ where: { email } })).toBe(0);
  await time.advance(service.ownerDb, 24 * 60 * 60_000);
  await inviteTo(email);
});

test('an unknown address, a disabled user and one with a company account get the same answer and no mail', async () => {
  const { db } = service.deps;
  const known = await signInMember(service, 'viewer');
  const disabled = await signInMember(service, 'viewer');
  await db.user.update({ where: { id: disabled.userId }, data: { disabledAt: new Date() } });
  const company = await signInMember(service, 'viewer');
  const { organization } = service;
  const change = { organizationId: organization.id, actor: 'test' };
  const [issuer, roles] = ['https://idp.test', { support: 'viewer' }];
  const settings = { issuer, roles, clientId: 'refunds', clientSecret: 'secret', roleClaim: 'groups' };
  await setProvider(service.deps, { ...change, settings });
  const account = { organizationId: organization.id, issuer, subject: company.userId };
  await db.companyAccount.create({ data: { ...account, userId: company.userId, createdAt: new Date() } });
  const unserved = [newEmail(), disabled.email, company.email];
  const before = await db.notification.count();
  const answers = await Promise.all([known.email, ...unserved].map((email) => requestReset(email)));
  for (const { status, text, headers, done } of answers) {
    expect({ status, text, to: headers.location, done }).toEqual({
      ...{ status: 303, text: '', to: signInPath, done: 'reset-requested' },
    });
  }
  // Each address costs a row, so that none answers sooner.
  expect((await db.notification.count()) - before).toBeGreaterThanOrEqual(2);
  await stage.run();
  expect(linkTo(known.email)).not.toBe('');
  expect(unserved.flatMap((email) => stage.mailsTo(email))).toEqual([]);
  await disableProvider(service.deps, change);
  expect(await resetLink(company.email)).not.toBe('');
});

test('a reset link sets the password once, and ends all sessions and other links', async () => {
  const { db } = service.deps;
  const { email, userId, password, visitor: signedIn } = await signInMember(service, 'viewer');
  const link = await resetLink(email);
  const token = link.split('/').at(-1) ?? '';
  expect(JSON.stringify(await db.notification.findMany())).not.toContain(token);
  const other = `${resetPath}/${await newLinkToken(db, { kind: 'password_reset', target: userId })}`;
  const visitor = new DashboardVisitor(service);
  expect((await visitor.post(link, { password: 'short' }, { csrfToken: null })).text).toContain(
    'password-problem',
  );
  const uses = await Promise.all(
    Array.from({ length: 3 }, () => visitor.post(link, { password: newPassword }, { csrfToken: null })),
  );
  expect(uses.filter(({ status }) => status === 303)).toHaveLength(1);
  for (const over of [link, other]) expect((await visitor.get(over)).status).toBe(404);
  expect((await signedIn.get('/dashboard/you')).headers.location).toContain(signInPath);
  expect((await visitor.signIn(email, password)).status).toBe(401);
  expect((await visitor.signIn(email, newPassword)).status).toBe(303);
});

test('a reset leaves the second factor, which the next sign-in asks for', async () => {
  const { email, visitor: signedIn } = await signInMember(service, 'viewer');
  await setUpSecondFactor(signedIn, time);
  const link = await resetLink(email);
  const visitor = new DashboardVisitor(service);
  const reset = await visitor.post(link, { password: newPassword }, { csrfToken: null });
  expect([reset.headers.location, reset.done]).toEqual([signInPath, 'password-reset']);
  expect((await visitor.get('/dashboard/you')).headers.location).toContain(signInPath);
  expect((await visitor.signIn(email, newPassword)).text).toContain('Enter your code');
});

test('a reset link expires after an hour, and is deleted', async () => {
  const { email } = await signInMember(service, 'viewer');
  const link = await resetLink(email);
  await time.advance(service.ownerDb, 59 * 60_000);
  expect((await new DashboardVisitor(service).get(link)).status).toBe(200);
  await time.advance(service.ownerDb, 2 * 60_000);
  expect((await new DashboardVisitor(service).get(link)).status).toBe(404);
  await retention.expireNotifications(service.deps);
  expect(await service.deps.db.mailedLink.count({ where: { target: { startsWith: 'usr_' } } })).toBe(0);
});

test('a reset link is over once its user signs in with an account of the company, also in a mail that comes later', async () => {
  const { db } = service.deps;
  const [mailed, waiting] = [await signInMember(service, 'viewer'), await signInMember(service, 'viewer')];
  const link = await resetLink(mailed.email);
  await requestReset(waiting.email);
  const organizationId = service.organization.id;
  const [issuer, roles] = ['https://idp.test', { support: 'viewer' }];
  const settings = { issuer, roles, clientId: 'refunds', clientSecret: 'secret', roleClaim: 'groups' };
  await setProvider(service.deps, { organizationId, actor: 'test', settings });
  for (const { userId: sub, email } of [mailed, waiting]) {
    const claims = { sub, email, email_verified: true, groups: 'support' } as never;
    await joinByCompany(service.deps, { organizationId, issuer, claims, isRecent: false });
  }
  await stage.run();
  const hashes = () => db.user.findMany({ select: { id: true, passwordHash: true }, orderBy: { id: 'asc' } });
  const before = await hashes();
  const links = [link, ...stage.mailsTo(waiting.email).map(() => linkTo(waiting.email))];
  for (const each of links) {
    const used = await new DashboardVisitor(service).post(
      each,
      { password: newPassword },
      { csrfToken: null },
    );
    expect(used.status).toBe(404);
  }
  expect(await hashes()).toEqual(before);
});

test('the sixth request for an address within an hour is refused, whether or not it has a user', async () => {
  const { email } = await signInMember(service, 'viewer');
  for (const address of [email, newEmail()]) {
    for (let count = 0; count < 5; count += 1) expect((await requestReset(address)).status).toBe(303);
    const refused = await requestReset(address);
    expect(refused).toMatchObject({ status: 400, text: expect.stringContaining('Too many requests.') });
  }
});

test('without a mail server no reset is offered', async () => {
  const { SMTP_URL } = service.settings;
  const visitor = new DashboardVisitor(service);
  expect((await visitor.get(signInPath)).text).toContain(`href="${resetPath}"`);
  Object.assign(service.settings, { SMTP_URL: null });
  const offered = [(await visitor.get(resetPath)).status, (await requestReset(newEmail())).status];
  Object.assign(service.settings, { SMTP_URL });
  expect(offered).toEqual([404, 404]);
});
