import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { disableProvider, enforceProvider, setProvider } from '#shared/people/company-sign-in/provider.ts';
import { disableUser } from '#shared/people/members/disable-user.ts';
import { invite } from '#shared/people/members/invitations.ts';
import { newId } from '#shared/platform/ids.ts';
import {
  openLink,
  pagesOf,
  startOf,
  useCompanySignIn,
} from '#test/support/company-sign-in/company-sign-in-stage.ts';
import { secondFactorPath, setUpSecondFactor } from '#test/support/dashboard/second-factor.ts';
import { newPerson } from '#test/support/people.ts';
import { useService } from '#test/support/use-service.ts';
import { waitFor } from '#test/support/wait-for.ts';

const service = useService({ workers: 0 });
const company = useCompanySignIn(service);
const { organizationWithProvider, actAs, begin, signIn, newVisitor, membersByEmail } = company;
let organizationId: string;
beforeEach(() => {
  organizationId = company.organizationId;
});

async function addressOf(provider: Server): Promise<string> {
  await once(provider.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void provider.close());
  return `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
}

test('creates a member with the mapped role, without a second factor that the organization requires', async () => {
  await service.deps.db.organization.update({
    where: { id: organizationId },
    data: { requiresSecondFactor: true },
  });
  const visitor = newVisitor();
  expect(await signIn(visitor)).toMatchObject({
    status: 303,
    headers: { location: `/dashboard/${organizationId}/live` },
  });
  expect((await visitor.get(pagesOf(organizationId))).status).toBe(200);
  const [member, ...others] = await membersByEmail();
  expect([member?.role, member?.organizationId, others]).toEqual(['operator', organizationId, []]);
  const audited = await service.deps.db.auditLog.findMany({ where: { organizationId } });
  expect(audited.map(({ action }) => action)).toEqual(
    expect.arrayContaining(['user.created', 'member.linked', 'user.signed_in']),
  );
});

test('follows the role of the claim at every sign-in, and keeps the last owner', async () => {
  await signIn(newVisitor());
  const { sub } = company.provider.account;
  actAs(['admins', 'support'], { sub });
  await signIn(newVisitor());
  const { userId } = await service.deps.db.companyAccount.findFirstOrThrow({ where: { subject: sub } });
  const roleNow = async () => (await service.deps.db.membership.findFirstOrThrow({ where: { userId } })).role;
  expect(await roleNow()).toBe('admin');
  for (const group of ['owners', 'support']) {
    actAs([group], { sub });
    await signIn(newVisitor());
    expect(await roleNow()).toBe('owner');
  }
});

test.each([
  ['without a role', [], {}, 'no role'],
  ['whose email address is not verified', ['support'], { email_verified: false }, 'verified email address'],
])('refuses an account %s', async (_what, groups, account, message) => {
  actAs(groups, account);
  const visitor = newVisitor();
  const refused = await signIn(visitor);
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining(message)]);
  expect(await membersByEmail()).toEqual([]);
  expect((await visitor.get(pagesOf(organizationId))).status).toBe(303);
});

test('changes nothing for a disabled member', async () => {
  await signIn(newVisitor());
  const { sub } = company.provider.account;
  const { userId } = await service.deps.db.companyAccount.findFirstOrThrow({ where: { subject: sub } });
  await newPerson(service.deps, organizationId, 'owner');
  await disableUser(service.deps, { userId, actor: 'test', revokesKeys: false });
  actAs(['owners'], { sub });
  const refused = await signIn(newVisitor());
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('cannot be used here')]);
  const { role } = await service.deps.db.membership.findFirstOrThrow({ where: { userId } });
  const provider = await service.deps.db.identityProvider.findFirstOrThrow({ where: { organizationId } });
  expect([role, provider.ownerSignedInAt]).toEqual(['operator', null]);
});

describe('refuses a callback', () => {
  test.each(['state', 'nonce'])('with another %s', async (name) => {
    const change = (address: string) => {
      const changed = new URL(address);
      changed.searchParams.set(name, 'another');
      return changed.href;
    };
    const refused = await signIn(newVisitor(), { change });
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('was refused')]);
    expect(await membersByEmail()).toEqual([]);
  });

  test('that was used before, or comes from another browser', async () => {
    const visitor = newVisitor();
    const callback = await begin(visitor);
    const { cookie } = visitor;
    expect((await newVisitor().get(callback)).status).toBe(403);
    expect((await visitor.get(callback)).status).toBe(303);
    expect((await visitor.get(callback)).status).toBe(403);
    const replaying = newVisitor();
    replaying.takeCookies(cookie);
    const refused = await replaying.get(callback);
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('was used before')]);
  });

  test("with the code of another organization's provider, which its own provider would learn", async () => {
    const asked: (string | undefined)[] = [];
    const eavesdropping = createServer(({ url }, response) => {
      asked.push(url);
      const at = (path: string) => `${issuer}${path}`;
      const endpoints = { authorization_endpoint: at('/auth'), token_endpoint: at('/token') };
      response.end(JSON.stringify({ issuer, ...endpoints, response_types_supported: ['code'] }));
    });
    const issuer = await addressOf(eavesdropping);
    const { id: attackers } = await service.addOrganization('With a provider of attackers');
    const settings = { ...company.provider.settings, issuer };
    await setProvider(service.deps, { organizationId: attackers, actor: 'test', settings });
    const victim = newVisitor();
    const { headers } = await openLink(victim, attackers);
    const state = new URL(String(headers.location)).searchParams.get('state') ?? '';
    // Its provider leads to the other one, as an attacker's sign-in there began, and that one does not name itself in the callback.
    const callback = new URL(await begin(newVisitor()), 'http://localhost');
    callback.searchParams.set('state', state);
    callback.searchParams.delete('iss');
    const refused = await victim.get(`${callback.pathname}${callback.search}`);
    expect([refused.status, asked.filter((url) => url === '/token')]).toEqual([403, []]);
  });

  test('once the provider is disabled', async () => {
    const visitor = newVisitor();
    const callback = await begin(visitor);
    await disableProvider(service.deps, { organizationId, actor: 'test' });
    const refused = await visitor.get(callback);
    expect([refused.status, refused.text]).toEqual([404, expect.stringContaining('not set up')]);
    const unknown = await visitor.get(startOf(newId('org')));
    const disabled = await visitor.get(startOf(organizationId));
    expect([disabled.status, disabled.text]).toEqual([404, unknown.text]);
  });
});

test("never signs in a user of another organization by the provider's word, and is not kept out by one", async () => {
  const victim = await newPerson(service.deps, service.organization.id, 'owner');
  actAs(['owners'], { email: victim.email });
  const attacker = newVisitor();
  await signIn(attacker);
  const pages = [organizationId, service.organization.id].map(async (at) => attacker.get(pagesOf(at)));
  expect((await Promise.all(pages)).map(({ status }) => status)).toEqual([200, 404]);
  const members = await membersByEmail(victim.email);
  const ofVictim = members.filter(({ userId }) => userId === victim.userId);
  expect([members.length, ofVictim]).toMatchObject([2, [{ organizationId: service.organization.id }]]);
});

test('a link to an organization that the user does not belong to replaces no session', async () => {
  const { email, password } = await newPerson(service.deps, service.organization.id, 'owner');
  const [victim, before] = [newVisitor(), newVisitor()];
  const callback = await begin(before);
  await victim.signIn(email, password);
  const started = await victim.get(startOf(organizationId));
  expect([started.status, started.text]).toEqual([403, expect.stringContaining(`signed in as ${email}`)]);
  // Begun before they signed in, and finished afterwards.
  await before.signIn(email, password);
  expect((await before.get(callback)).status).toBe(403);
  for (const { cookie } of [victim, before]) {
    const browser = newVisitor();
    browser.takeCookies(cookie);
    expect((await browser.get(pagesOf(service.organization.id))).status).toBe(200);
  }
});

test('a link that another site or a mail leads to asks before it signs in', async () => {
  const visitor = newVisitor();
  const elsewhere = [
    ...[
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'none' },
      { referer: 'https://other.example' },
    ],
    { 'sec-fetch-site': 'cross-site', referer: 'http://localhost/dashboard' },
  ];
  for (const headers of elsewhere) {
    const asked = await visitor.get(startOf(organizationId), headers);
    const host = new URL(company.provider.issuer).host;
    expect([asked.status, asked.text]).toEqual([200, expect.stringContaining(`You continue at ${host}`)]);
    expect(asked.text).toContain(`href="${startOf(organizationId)}"`);
  }
  expect(visitor.cookie).toBe('');
  expect((await openLink(visitor, organizationId)).status).toBe(303);
  const overHttp = { referer: 'http://localhost/dashboard/sign-in', host: 'localhost' };
  expect((await newVisitor().get(startOf(organizationId), overHttp)).status).toBe(303);
});

test('a refusal names its cause in Activity, once an hour for an account, and no address in the log', async () => {
  const warn = vi.spyOn(service.deps.log, 'warn');
  actAs([], { email: 'kim@example.com' });
  await signIn(newVisitor());
  await signIn(newVisitor());
  company.provider.answers['/token'] = [
    401,
    { error: 'invalid_client', error_description: 'kim@example.com' },
  ];
  expect((await signIn(newVisitor())).text).toContain('Ask your administrator');
  const member = await newPerson(service.deps, service.organization.id, 'owner');
  const elsewhere = newVisitor();
  await elsewhere.signIn(member.email, member.password);
  await openLink(elsewhere, organizationId);
  const { sub: subject } = company.provider.account;
  const entries = await service.deps.db.auditLog.findMany({
    where: { organizationId, action: 'company_sign_in.refused' },
    orderBy: { createdAt: 'asc' },
  });
  expect(entries.map(({ detail }) => detail)).toEqual([
    { cause: 'no_role', subject },
    { cause: 'client_refused', answer: 'invalid_client' },
  ]);
  expect(JSON.stringify(warn.mock.calls)).not.toContain('@example.com');
});

test('refuses a member who belongs to another organization as well', async () => {
  const { userId, email } = await newPerson(service.deps, service.organization.id, 'owner');
  await service.deps.db.membership.create({ data: { organizationId, userId, role: 'viewer' } });
  actAs(['owners'], { email });
  const refused = await signIn(newVisitor());
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('cannot be used here')]);
});

test('an address with letters that only look the same is not that of the member', async () => {
  const { userId } = await newPerson(service.deps, organizationId, 'viewer');
  const email = `kim-${userId}@example.com`;
  await service.deps.db.user.update({ where: { id: userId }, data: { email } });
  // The Kelvin sign, of which the lower-case letter is a k.
  actAs(['owners'], { email: email.replace('k', '\u212a') });
  expect((await signIn(newVisitor())).status).toBe(403);
  expect(await membersByEmail(email)).toMatchObject([{ role: 'viewer' }]);
});

test('links a member of the organization, who then can belong to no other', async () => {
  const member = await newPerson(service.deps, organizationId, 'viewer');
  actAs(['support'], { email: member.email });
  const visitor = newVisitor();
  await signIn(visitor);
  expect(await membersByEmail()).toMatchObject([{ userId: member.userId, role: 'operator' }]);
  const elsewhere = { organizationId: service.organization.id, acting: { administration: 'test' } } as const;
  const { token } = await invite(service.deps, { ...elsewhere, email: member.email, role: 'admin' });
  const refused = await visitor.post(`/dashboard/invitation/${token}`);
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('that one only')]);
  const other = await organizationWithProvider();
  await signIn(newVisitor(), { at: other });
  const members = await membersByEmail();
  expect(members.filter(({ userId }) => userId === member.userId)).toMatchObject([{ organizationId }]);
});

test('the first sign-in with the provider ends the password and the sessions that the member had before', async () => {
  // An admin invited the address of someone who was to come, and accepted the invitation.
  const squatted = await newPerson(service.deps, organizationId, 'viewer');
  const squatter = newVisitor();
  await squatter.signIn(squatted.email, squatted.password);
  expect((await squatter.get(pagesOf(organizationId))).status).toBe(200);
  actAs(['owners'], { email: squatted.email });
  const person = newVisitor();
  await signIn(person);
  expect(await membersByEmail()).toMatchObject([{ userId: squatted.userId, role: 'owner' }]);
  expect((await person.get(pagesOf(organizationId))).status).toBe(200);
  expect((await squatter.get(pagesOf(organizationId))).status).toBe(303);
  expect((await squatter.signIn(squatted.email, squatted.password)).status).toBe(401);
});

test('opens no other organization, and none once the membership ended or the provider was replaced', async () => {
  const visitor = newVisitor();
  await signIn(visitor);
  const status = async (at = organizationId) => (await visitor.get(pagesOf(at))).status;
  const { userId } = await service.deps.db.companyAccount.findFirstOrThrow({ where: { organizationId } });
  // As after an invitation to another organization, which is accepted with a password.
  const { id: other } = await service.addOrganization('Another');
  const [now, role] = [new Date(), 'owner'] as const;
  await service.deps.db.membership.create({ data: { organizationId: other, userId, role, createdAt: now } });
  expect([await status(), await status(other)]).toEqual([200, 404]);
  const { settings } = company.provider;
  const issuer = `${settings.issuer}/other`;
  await setProvider(service.deps, { organizationId, actor: 'test', settings: { ...settings, issuer } });
  expect(await status()).toBe(404);
  await setProvider(service.deps, { organizationId, actor: 'test', settings });
  expect(await status()).toBe(200);
  await service.deps.db.membership.delete({ where: { organizationId_userId: { organizationId, userId } } });
  await service.deps.db.membership.create({ data: { organizationId, userId, role, createdAt: now } });
  expect(await status()).toBe(404);
});

test('reads nothing of a provider that is packed, because it may unpack to any size', async () => {
  const packed = createServer((_request, response) =>
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
      .end(gzipSync(' '.repeat(1_000_000))),
  );
  const issuer = await addressOf(packed);
  const settings = { ...company.provider.settings, issuer };
  await setProvider(service.deps, { organizationId, actor: 'test', settings });
  const refused = await openLink(newVisitor(), organizationId);
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('was refused')]);
});

test('a provider that hangs holds few of the places for pages, so that others sign in', async () => {
  const outcomes: unknown[] = [];
  const hanging = createServer(({ url }) => outcomes.push(url));
  const settings = { ...company.provider.settings, issuer: await addressOf(hanging) };
  const { id } = await service.addOrganization('With a provider that hangs');
  await setProvider(service.deps, { organizationId: id, actor: 'test', settings });
  const places = service.settings.MAX_PAGES_IN_PROGRESS;
  const starts = Array.from({ length: places }, async () => {
    const { status } = await openLink(newVisitor(), id);
    outcomes.push(status);
  });
  await waitFor('all to be asked or refused', () => outcomes.length === places);
  expect((await openLink(newVisitor(), organizationId)).status).toBe(303);
  hanging.closeAllConnections();
  await Promise.all(starts);
});

test("the service's clock decides how old a token is, whatever that of its machine", async () => {
  const ahead = new Date(Date.now() + 2 * 60 * 60 * 1000);
  const now = vi.spyOn(service.deps.clock, 'now').mockReturnValue(ahead);
  const refused = await signIn(newVisitor());
  now.mockRestore();
  expect([refused.status, await membersByEmail()]).toEqual([403, []]);
});

test('admits members other than owners only with the provider, once an owner has signed in with it', async () => {
  const enforce = () => enforceProvider(service.deps, { organizationId, actor: 'test', isEnforced: true });
  await expect(enforce()).rejects.toThrow('First an owner must sign in');
  const [owner, member] = await Promise.all(
    (['owner', 'operator'] as const).map((role) => newPerson(service.deps, organizationId, role)),
  );
  actAs(['owners'], { email: owner?.email ?? '' });
  await signIn(newVisitor());
  const [byPassword, ownerByPassword, byCompany] = [newVisitor(), newVisitor(), newVisitor()];
  await byPassword.signIn(member?.email ?? '', member?.password ?? '');
  await ownerByPassword.signIn(owner?.email ?? '', owner?.password ?? '');
  expect((await byPassword.get(pagesOf(organizationId))).status).toBe(200);
  await enforce();
  expect(await byPassword.get(pagesOf(organizationId))).toMatchObject({
    status: 303,
    headers: { location: startOf(organizationId) },
  });
  expect((await ownerByPassword.get(pagesOf(organizationId))).status).toBe(200);
  actAs(['support'], { email: member?.email ?? '' });
  await signIn(byCompany);
  expect((await byCompany.get(pagesOf(organizationId))).status).toBe(200);
});

test('asks for another sign-in with the provider before a sensitive change', async () => {
  actAs(['owners']);
  const visitor = newVisitor();
  await signIn(visitor);
  const page = `/dashboard/${organizationId}/test/settings/approvals`;
  await visitor.get(page);
  const asked = await visitor.post(page, { days: '3' });
  expect([asked.status, asked.text]).toEqual([403, expect.stringContaining('Sign in again')]);
  const change = (address: string) => {
    expect(address).toContain('prompt=login');
    return address;
  };
  await signIn(visitor, { query: '?confirm=yes', change });
  await visitor.get(page);
  expect((await visitor.post(page, { days: '3' })).status).toBe(303);
});

test('asks for it before the fields of a refund are entered, and leads back to them', async () => {
  const visitor = newVisitor();
  await signIn(visitor);
  const page = `/dashboard/${organizationId}/test/refunds/new?transactionId=pi_1`;
  const asked = await visitor.get(page);
  expect([asked.status, asked.text]).toEqual([403, expect.not.stringContaining('name="transactionId"')]);
  const [, again = ''] = /href="([^"]*confirm=yes[^"]*)"/.exec(asked.text) ?? [];
  const query = again.replaceAll('&amp;', '&').replace(startOf(organizationId), '');
  const { headers } = await signIn(visitor, { query });
  expect(headers.location).toBe(page);
  expect((await visitor.get(page)).text).toContain('value="pi_1"');
});

test('a provider that has said when someone signed in must say it for every confirmation', async () => {
  actAs(['owners']);
  const visitor = newVisitor();
  await signIn(visitor);
  await signIn(visitor, { query: '?confirm=yes' });
  // Whoever is at the browser can leave out what asks for it.
  const change = (address: string) => address.replace(/&(prompt|max_age)=[^&]*/g, '');
  const refused = await signIn(visitor, { query: '?confirm=yes', change });
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('no longer says when')]);
});

test('a sign-in with the company sets up no second factor until its provider was asked to confirm', async () => {
  const visitor = newVisitor();
  await signIn(visitor);
  await visitor.get('/dashboard/you');
  const asked = await visitor.post(secondFactorPath);
  expect([asked.status, asked.text]).toEqual([403, expect.stringContaining('Sign in again')]);
});

test('a second factor or a password makes no other session of one with the provider', async () => {
  const { email, password } = await newPerson(service.deps, organizationId, 'owner');
  actAs(['owners'], { email });
  const visitor = newVisitor();
  await signIn(visitor);
  await signIn(visitor, { query: '?confirm=yes' });
  await visitor.get('/dashboard/you');
  await setUpSecondFactor(visitor, service.deps.clock);
  const { userId, data } = await service.deps.db.session.findFirstOrThrow({ where: { user: { email } } });
  expect(data).toMatchObject({ companyOf: organizationId });
  await visitor.get('/dashboard/you');
  const next = { current: password, next: 'another password of theirs' };
  expect((await visitor.post('/dashboard/you/password', next)).status).toBe(303);
  expect(await service.deps.db.session.findMany({ where: { userId } })).toMatchObject([
    { data: { companyOf: organizationId } },
  ]);
  expect((await visitor.get(pagesOf(organizationId))).status).toBe(200);
  await disableProvider(service.deps, { organizationId, actor: 'test' });
  expect((await visitor.get(pagesOf(organizationId))).status).toBe(404);
});

test('takes no issuer over http or at a private address in production', async () => {
  const deps = { ...service.deps, settings: { ...service.deps.settings, NODE_ENV: 'production' } };
  for (const issuer of [company.provider.issuer, 'https://127.0.0.1', 'https://localhost']) {
    const settings = { ...company.provider.settings, issuer };
    await expect(setProvider(deps, { organizationId, actor: 'test', settings })).rejects.toThrow(
      'issuer: must',
    );
  }
});

test('lets an owner set up, test and disable the provider, and shows no secret', async () => {
  const { id } = await service.addOrganization('Sets it up');
  const owner = await newPerson(service.deps, id, 'owner');
  const visitor = newVisitor();
  await visitor.signIn(owner.email, owner.password);
  const page = `/dashboard/${id}/test/settings/company-sign-in`;
  await visitor.get(page);
  const { clientId, clientSecret, roleClaim, issuer } = company.provider.settings;
  const scopes = 'openid email';
  const mapped = { owner: 'owners', operator: 'support, helpers' };
  const form = { issuer, clientId, clientSecret, scopes, roleClaim, ...mapped };
  expect((await visitor.post(page, { ...form, owner: '', operator: '' })).status).toBe(400);
  expect((await visitor.post(page, form)).status).toBe(303);
  const shown = await visitor.get(page);
  expect(shown.text).toContain('helpers, support');
  expect(shown.text).not.toContain(clientSecret);
  expect((await visitor.post(`${page}/test`)).done).toBe('connection-works');
  expect((await visitor.get(page, { host: '[::1' })).status).toBe(400);
  expect((await visitor.post(`${page}/test`, {}, { headers: { host: '[::1' } })).status).toBe(400);
  const refused = await visitor.post(`${page}/rule`, { rule: 'required' });
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('First an owner')]);
  expect((await signIn(newVisitor(), { at: id })).status).toBe(303);
  await visitor.post(`${page}/rule`, { rule: 'disabled' });
  expect((await newVisitor().get(startOf(id))).status).toBe(404);
});
