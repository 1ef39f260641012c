import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { DashboardVisitor } from '../../support/dashboard/dashboard-visitor.ts';
import { sendHeld } from '../../support/dashboard/held-request.ts';
import { newPerson, type TestPerson } from '../../support/people.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
const you = '/dashboard/you';
const wrong = 'another horse battery';
const newPassword = 'a quite different password';

const addPerson = () => newPerson(service.deps, service.organization.id, 'viewer');
/** A member who has signed in, and whose next form has a CSRF token. */
const addMember = () => signInMember(service, 'viewer');

/** Another browser of the member. */
async function signedIn({ email, password }: TestPerson): Promise<DashboardVisitor> {
  const visitor = new DashboardVisitor(service);
  expect((await visitor.signIn(email, password)).status).toBe(303);
  return visitor;
}

async function copyOf(visitor: DashboardVisitor): Promise<DashboardVisitor> {
  const copy = new DashboardVisitor(service);
  copy.takeCookies(visitor.cookie);
  return copy;
}

async function expectSignedOut(visitor: DashboardVisitor): Promise<void> {
  expect((await visitor.get(you)).headers.location).toMatch(/^\/dashboard\/sign-in/);
}

const signInPageFor = (next: string) => `/dashboard/sign-in?next=${encodeURIComponent(next)}`;
const changePassword = (visitor: DashboardVisitor, current: string, next = newPassword) =>
  visitor.post(`${you}/password`, { current, next });

describe('a visitor without a session', () => {
  test('is redirected to the sign-in page, which returns to the requested one, without getting a session', async () => {
    const before = await service.deps.db.session.count();
    const page = await new DashboardVisitor(service).get('/dashboard/org_x/test');
    expect(page).toMatchObject({
      status: 303,
      headers: { location: signInPageFor('/dashboard/org_x/test') },
    });
    expect(page.headers['set-cookie']).toBeUndefined();
    expect(await service.deps.db.session.count()).toBe(before);
  });

  const shown = '/dashboard/org_x/test/refunds?q=a+b&status=failed';
  test.each([
    ['GET', 'refunds/results', `https://refunds.example.com${shown}#latest`, shown],
    ['POST', 'policies/replay', `https://refunds.example.com${shown}`, shown],
    ['GET', 'refunds/results', 'nonsense', '/dashboard'],
    ['GET', 'refunds/results', 'https://example.com//elsewhere.example.com/', '/dashboard'],
    ['GET', 'refunds/results', 'https://example.com/v1/refunds', '/dashboard'],
  ])('returns after %s of the part %s of the page %s to %s', async (method, path, page, next) => {
    const headers = { 'hx-request': 'true', 'hx-current-url': page };
    const part = `/dashboard/org_x/test/${path}`;
    const visitor = new DashboardVisitor(service);
    const answer = await (method === 'GET'
      ? visitor.get(part, headers)
      : visitor.post(part, {}, { headers }));
    expect(answer).toMatchObject({ status: 401, text: '', headers: { 'hx-redirect': signInPageFor(next) } });
  });
});

describe('signing in', () => {
  test('sets cookies that scripts and other sites cannot read', async () => {
    const { email, password } = await addPerson();
    const visitor = new DashboardVisitor(service);
    const headers = { 'x-forwarded-proto': 'https' };
    const page = await visitor.post('/dashboard/sign-in', { email, password }, { csrfToken: null, headers });
    const cookies = [page.headers['set-cookie'] ?? []].flat();
    // Not Secure, because no proxy is trusted to say that there is TLS.
    expect(cookies.toSorted()).toEqual([
      expect.stringMatching(
        /^refunds_known_browser=[^;]+; Max-Age=7776000; Path=\/dashboard; HttpOnly; SameSite=Strict$/,
      ),
      expect.stringMatching(
        /^refunds_session=[^;]+; Path=\/dashboard; Expires=[^;]+; HttpOnly; SameSite=Lax$/,
      ),
    ]);
    expect((await visitor.get(you)).status).toBe(200);
  });

  test.each([
    '/dashboard/org_x/test/refunds?q=a+b',
    '/dashboard/you?a=~*:!%20%C3%A4&b=(1)',
    '/dashboard/you?done=session-ended',
    '/dashboard',
  ])('returns to the requested page %s', async (next) => {
    const { email, password } = await addPerson();
    const visitor = new DashboardVisitor(service);
    expect((await visitor.get(signInPageFor(next))).text).toContain(`value="${next.replace('&', '&amp;')}"`);
    const page = await visitor.post('/dashboard/sign-in', { email, password, next }, { csrfToken: null });
    expect(page).toMatchObject({ status: 303, headers: { location: next } });
  });

  test.each([
    'https://example.com',
    '//example.com',
    '/\\example.com',
    '/v1/refunds',
    '/dashboard//example.com',
    '/dashboard/..//example.com',
    '/dashboard/%2e%2e/v1/refunds',
    '/\t/example.com',
    '/dashboard/\\example.com',
    '/dashboard\r\nset-cookie: a=b',
    'javascript:alert(1)',
    '/dashboardless',
    '/dashboard/sign-in?next=/dashboard/sign-in',
  ])('never redirects to %j', async (next) => {
    const { email, password } = await addPerson();
    const visitor = new DashboardVisitor(service);
    const page = await visitor.post('/dashboard/sign-in', { email, password, next }, { csrfToken: null });
    expect(page.headers.location).toBe('/dashboard');
  });

  test('responds alike to a wrong password and an unknown address', async () => {
    const { email } = await addPerson();
    const visitor = new DashboardVisitor(service);
    const known = await visitor.signIn(email, wrong);
    const unknown = await visitor.signIn('nobody@example.com', wrong);
    expect(known.status).toBe(401);
    expect(known.text).toContain('Incorrect email address or password.');
    expect(unknown.text.replaceAll('nobody@example.com', email)).toBe(known.text);
    expect(visitor.cookie).toBe('');
  });
});

describe('a session', () => {
  test('gets a new id on sign-in, and the old one becomes invalid', async () => {
    const [{ visitor }, second] = [await addMember(), await addPerson()];
    const attacker = await copyOf(visitor);
    await visitor.signIn(second.email, second.password);
    expect(visitor.cookie).not.toBe(attacker.cookie);
    await expectSignedOut(attacker);
  });

  test('is extended by opening a page, not by automatic updates', async () => {
    const { visitor, userId } = await addMember();
    const where = { userId };
    const hourAgo = new Date(Date.now() - 3_600_000);
    await service.deps.db.session.updateMany({ where, data: { lastSeenAt: hourAgo } });
    const lastSeen = async () => (await service.deps.db.session.findFirstOrThrow({ where })).lastSeenAt;
    expect((await visitor.get(you, { 'hx-request': 'true' })).status).toBe(200);
    await visitor.get('/dashboard/queues/api/queues');
    expect(await lastSeen()).toEqual(hourAgo);
    expect((await visitor.get(you)).status).toBe(200);
    expect((await lastSeen()).getTime()).toBeGreaterThan(hourAgo.getTime());
  });

  test("expires by the database's clock, not by this machine's", async () => {
    const { visitor, userId } = await addMember();
    const sessionIds = async () =>
      (await service.deps.db.session.findMany({ where: { userId } })).map(({ id }) => id);
    const before = await sessionIds();
    const trueNow = Date.now;
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => trueNow() + 8 * 24 * 60 * 60 * 1000);
    onTestFinished(() => clock.mockRestore());
    expect((await visitor.get(you)).status).toBe(200);
    expect(await sessionIds()).toEqual(before);
  });

  test('cannot be made up', async () => {
    const visitor = new DashboardVisitor(service);
    visitor.takeCookies('refunds_session=made-up.signature');
    await expectSignedOut(visitor);
  });

  test('ends on sign-out, also for a copy of its cookie', async () => {
    const { visitor } = await addMember();
    const copy = await copyOf(visitor);
    const page = await visitor.post('/dashboard/sign-out');
    expect(page.headers.location).toMatch(/^\/dashboard\/sign-in/);
    await expectSignedOut(copy);
  });

  test('can be ended on the page of another session, but for that session itself', async () => {
    const person = await addMember();
    const { visitor: mine } = person;
    const lost = await signedIn(person);
    const page = await mine.get(you);
    const [end, ...more] = [...page.text.matchAll(/action="([^"]+\/end)"/g)].map(([, url = '']) => url);
    expect(more).toEqual([]);
    await mine.post(end ?? '');
    await expectSignedOut(lost);
    expect((await mine.get(you)).status).toBe(200);
  });

  // Forms without a token are covered for every route by access.test.ts.
  test("changes nothing by a form with another session's token", async () => {
    const person = await addMember();
    const { visitor } = person;
    const other = await (await signedIn(person)).get(you);
    const csrfToken = /name="_csrf" value="([^"]+)"/.exec(other.text)?.[1] ?? '';
    expect((await visitor.post('/dashboard/sign-out', {}, { csrfToken })).status).toBe(403);
    expect(await service.deps.db.session.count({ where: { userId: person.userId } })).toBe(2);
  });
});

describe('changing the password', () => {
  test('starts a new session and ends all others, also copies of the old cookie', async () => {
    const person = await addMember();
    const { visitor: mine } = person;
    const lost = await signedIn(person);
    const copy = await copyOf(mine);
    const page = await changePassword(mine, person.password);
    expect(page.headers.location).toBe(`${you}?done=password-changed`);
    expect((await mine.get(`${you}?done=password-changed`)).text).toContain('Password changed.');
    for (const each of [lost, copy]) await expectSignedOut(each);
  });

  test('shows errors at their fields and keeps the session', async () => {
    const { visitor, password } = await addMember();
    const incorrect = await changePassword(visitor, 'x');
    expect(incorrect.status).toBe(400);
    expect(incorrect.text).toMatch(/id="current-problem">The current password is incorrect/);
    const short = await changePassword(visitor, password, 'short');
    expect(short.text).toMatch(/id="next-problem">Must be 12 to 128 characters/);
    expect((await visitor.get(you)).status).toBe(200);
  });
});

test('an unknown environment is not found', async () => {
  const { visitor } = await addMember();
  expect((await visitor.get(`/dashboard/${service.organization.id}/staging`)).status).toBe(404);
});

describe('a form whose body is delayed', () => {
  test.each<[string, (userId: string) => Promise<unknown>]>([
    [
      'the role was revoked',
      (userId) => service.deps.db.membership.updateMany({ where: { userId }, data: { role: 'viewer' } }),
    ],
    ['the session has ended', (userId) => service.deps.db.session.deleteMany({ where: { userId } })],
  ])('changes nothing when %s meanwhile', async (_, takeAway) => {
    const admin = await signInMember(service, 'admin');
    const before = await service.deps.db.apiKey.count();
    const url = `/dashboard/${service.organization.id}/test/settings/api-keys`;
    const answer = await sendHeld(service, admin.visitor, { method: 'POST', url }, () =>
      takeAway(admin.userId),
    );
    expect(answer.statusCode).toBe(403);
    expect(await service.deps.db.apiKey.count()).toBe(before);
  });
});
