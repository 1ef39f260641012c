import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { buildApp } from '#api/app.ts';
import { findKnownBrowser } from '#shared/people/sign-in/known-browsers.ts';
import { auditOf } from '../../support/audit-log.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { DashboardVisitor } from '../../support/dashboard/dashboard-visitor.ts';
import { sendHeld } from '../../support/held-request.ts';
import { newPerson, proofOf, type TestPerson } from '../../support/people.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
const you = '/dashboard/you';

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

describe('a visitor without a session', () => {
  const next = '/dashboard/org_x/test/refunds?q=a+b';

  test('is redirected to the sign-in page, which returns to the requested one, and gets no session before', async () => {
    const { email, password } = await addPerson();
    const before = await service.deps.db.session.count();
    const visitor = new DashboardVisitor(service);
    const page = await visitor.get(next);
    expect(page).toMatchObject({ status: 303, headers: { location: signInPageFor(next) } });
    expect(page.headers['set-cookie']).toBeUndefined();
    expect(await service.deps.db.session.count()).toBe(before);
    expect((await visitor.get(signInPageFor(next))).text).toContain(`value="${next}"`);
    for (const [asked, to] of [
      [next, next],
      ['//example.com', '/dashboard'],
    ] as const) {
      const form = { email, password, next: asked };
      const { headers } = await visitor.post('/dashboard/sign-in', form, { csrfToken: null });
      expect(headers.location).toBe(to);
    }
  });

  test.each(['GET', 'POST'])('returns after %s of a part to the whole page', async (method) => {
    const headers = { 'hx-request': 'true', 'hx-current-url': `https://refunds.example.com${next}` };
    const part = '/dashboard/org_x/test/policies/replay';
    const visitor = new DashboardVisitor(service);
    const answer = await (method === 'GET'
      ? visitor.get(part.replace('policies/replay', 'refunds'), headers)
      : visitor.post(part, {}, { headers }));
    expect(answer).toMatchObject({ status: 401, text: '', headers: { 'hx-redirect': signInPageFor(next) } });
  });
});

describe('a session', () => {
  test('gets a new id when another user signs in, and the old one ends, which is audited', async () => {
    const [{ visitor, userId }, second] = [await addMember(), await addPerson()];
    const { id } = await service.deps.db.session.findFirstOrThrow({ where: { userId } });
    const attacker = await copyOf(visitor);
    await visitor.signIn(second.email, second.password);
    expect(visitor.cookie).not.toBe(attacker.cookie);
    await expectSignedOut(attacker);
    expect((await auditOf(service, id)).map(({ action }) => action)).toContain('user.signed_out');
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

  test('and the known browser outlive a rotation of ENCRYPTION_KEY', async () => {
    const { visitor, userId } = await addMember();
    const { ENCRYPTION_KEY: previous } = service.settings;
    const keys = { ENCRYPTION_KEY: 'A'.repeat(43), ENCRYPTION_PREVIOUS_KEYS: [previous] };
    const deps = { ...service.deps, settings: { ...service.settings, ...keys } };
    const app = await buildApp({ ...deps, dashboardDb: deps.db });
    onTestFinished(() => app.close());
    const elsewhere = new DashboardVisitor({ ...service, app });
    elsewhere.takeCookies(visitor.cookie);
    expect((await elsewhere.get(you)).status).toBe(200);
    const [, browser = ''] = /refunds_known_browser=([^;]+)/.exec(visitor.cookie) ?? [];
    expect(findKnownBrowser(deps, browser, await proofOf(deps.db, userId))).not.toBeNull();
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
  test('shows errors at their fields and keeps the session', async () => {
    const { visitor, password } = await addMember();
    const change = (current: string, next: string) => visitor.post(`${you}/password`, { current, next });
    const incorrect = await change('x', 'a quite different password');
    expect(incorrect.status).toBe(400);
    expect(incorrect.text).toMatch(/id="current-problem">The current password is incorrect/);
    const short = await change(password, 'short');
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
    [
      'the organization requires a second factor',
      () => service.deps.db.organization.updateMany({ data: { requiresSecondFactor: true } }),
    ],
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
