import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createOrganization } from '../../../shared/organizations/create-organization.ts';
import { invite } from '../../../shared/people/invitations.ts';
import { changeRole } from '../../../shared/people/members.ts';
import { createUser } from '../../../shared/people/users.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { DashboardVisitor } from '../../support/dashboard/dashboard-visitor.ts';
import { sendHeld } from '../../support/dashboard/held-request.ts';
import { waitForLock, withClient } from '../../support/stores/database-client.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
const password = 'correct horse battery';
let userId: string;
let count = 0;

/** Somebody who belongs to the service's organization, with an address of their own. */
async function newPerson(role: 'owner' | 'viewer' = 'viewer') {
  count += 1;
  const email = `person${count}@example.com`;
  const organizationId = service.organization.id;
  const { id } = await createUser(service.deps, { organizationId, email, password, role, actor: 'test' });
  return { id, email };
}

async function signedIn(email: string): Promise<DashboardVisitor> {
  const visitor = new DashboardVisitor(service);
  expect((await visitor.signIn(email, password)).status).toBe(303);
  return visitor;
}

const signInPage = /^\/dashboard\/sign-in/;

beforeAll(async () => {
  userId = (await newPerson('owner')).id;
});

describe('nobody who is not signed in', () => {
  test.each(['/dashboard', '/dashboard/you', '/dashboard/queues', '/dashboard/org_x/test'])(
    'sees %s',
    async (url) => {
      const before = await service.deps.db.session.count();
      const page = await new DashboardVisitor(service).get(url);
      expect(page.status).toBe(303);
      expect(page.headers.location).toBe(`/dashboard/sign-in?next=${encodeURIComponent(url)}`);
      expect(page.headers['set-cookie']).toBeUndefined();
      expect(await service.deps.db.session.count()).toBe(before);
    },
  );

  test('has a part of a page replaced by the page for signing in', async () => {
    const page = await new DashboardVisitor(service).get('/dashboard', { 'hx-request': 'true' });
    expect(page).toMatchObject({ status: 401, text: '' });
    expect(page.headers['hx-redirect']).toMatch(signInPage);
  });

  test.each([
    ['GET', 'refunds/results'],
    ['POST', 'policies/preview'],
  ])('comes back to the page, not to the part of it that was asked for: %s %s', async (method, path) => {
    const shown = '/dashboard/org_x/test/refunds?q=a+b&status=failed';
    const headers = {
      'hx-request': 'true',
      'hx-current-url': `https://refunds.example.com${shown}#latest`,
    };
    const part = `/dashboard/org_x/test/${path}`;
    const visitor = new DashboardVisitor(service);
    const answer = await (method === 'GET'
      ? visitor.get(part, headers)
      : visitor.post(part, {}, { headers }));
    expect(answer.headers['hx-redirect']).toBe(`/dashboard/sign-in?next=${encodeURIComponent(shown)}`);
  });

  test.each(['nonsense', 'https://example.com//elsewhere.example.com/', 'https://example.com/v1/refunds'])(
    'comes back to the dashboard from what is no page of it: %s',
    async (page) => {
      const headers = { 'hx-request': 'true', 'hx-current-url': page };
      const answer = await new DashboardVisitor(service).get(
        '/dashboard/org_x/test/refunds/results',
        headers,
      );
      expect(answer.headers['hx-redirect']).toBe(
        `/dashboard/sign-in?next=${encodeURIComponent('/dashboard')}`,
      );
    },
  );

  test('signs out', async () => {
    expect((await new DashboardVisitor(service).post('/dashboard/sign-out')).headers.location).toMatch(
      signInPage,
    );
  });
});

describe('signing in', () => {
  test('leads to the page that was asked for, with a cookie that no script and no other site gets', async () => {
    const { email } = await newPerson();
    const visitor = new DashboardVisitor(service);
    const next = '/dashboard/you?done=session';
    const shown = await visitor.get(`/dashboard/sign-in?next=${encodeURIComponent(next)}`);
    expect(shown.text).toContain(`value="${next}"`);
    const page = await visitor.post('/dashboard/sign-in', { email, password, next }, { csrfToken: null });
    expect(page).toMatchObject({ status: 303, headers: { location: next } });
    const cookies = [page.headers['set-cookie'] ?? []].flat();
    expect(cookies).toHaveLength(2);
    expect(cookies.find((each) => each.startsWith('refunds_session='))).toMatch(
      /^refunds_session=[^;]+; Path=\/dashboard; Expires=[^;]+; HttpOnly; SameSite=Lax$/,
    );
    expect(cookies.find((each) => each.startsWith('refunds_known_browser='))).toMatch(
      /^refunds_known_browser=[^;]+; Max-Age=7776000; Path=\/dashboard; HttpOnly; SameSite=Strict$/,
    );
    expect((await visitor.get(next)).status).toBe(200);
  });

  test.each(['/dashboard/org_x/test/refunds?q=a+b', '/dashboard/you?a=~*:!%20%C3%A4&b=(1)', '/dashboard'])(
    'keeps all of the address that was asked for: %s',
    async (next) => {
      const { email } = await newPerson();
      const visitor = new DashboardVisitor(service);
      const page = await visitor.post('/dashboard/sign-in', { email, password, next }, { csrfToken: null });
      expect(page.headers.location).toBe(next);
    },
  );

  test('marks the cookie for TLS where a trusted proxy says that there is some', async () => {
    const { email } = await newPerson();
    const headers = { 'x-forwarded-proto': 'https' };
    const visitor = new DashboardVisitor(service);
    const page = await visitor.post('/dashboard/sign-in', { email, password }, { csrfToken: null, headers });
    expect(String(page.headers['set-cookie'])).not.toContain('Secure');
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
  ])('leads to no other place: %s', async (next) => {
    const { email } = await newPerson();
    const visitor = new DashboardVisitor(service);
    const page = await visitor.post('/dashboard/sign-in', { email, password, next }, { csrfToken: null });
    expect(page.headers.location).toBe('/dashboard');
  });

  test('shows its page whatever is in the address', async () => {
    const page = await new DashboardVisitor(service).get('/dashboard/sign-in?next=a&next=b&done=x&done=y');
    expect(page.status).toBe(200);
  });

  test('answers a wrong password and an unknown address alike', async () => {
    const { email } = await newPerson();
    const visitor = new DashboardVisitor(service);
    const [wrong, unknown] = [
      await visitor.signIn(email, 'another horse battery'),
      await visitor.signIn('nobody@example.com', 'another horse battery'),
    ];
    expect(wrong.status).toBe(401);
    expect(wrong.text).toContain('is not right');
    expect(unknown.text.replaceAll('nobody@example.com', email)).toBe(wrong.text);
    expect(visitor.cookie).toBe('');
  });

  test('is locked for a while after five failures, also for the right password', async () => {
    const { email } = await newPerson();
    const visitor = new DashboardVisitor(service);
    for (let failure = 0; failure < 5; failure += 1) await visitor.signIn(email, 'another horse battery');
    const page = await visitor.signIn(email, password);
    expect(page.status).toBe(401);
    expect(page.text).toMatch(/tried again in \d+ seconds/);
  });

  test('is not locked by strangers in the browser that the person has used before', async () => {
    const { email } = await newPerson();
    const visitor = await signedIn(email);
    await visitor.get('/dashboard/you');
    await visitor.post('/dashboard/sign-out');
    const stranger = new DashboardVisitor(service);
    for (let failure = 0; failure < 5; failure += 1) await stranger.signIn(email, 'another horse battery');
    expect((await stranger.signIn(email, password)).status).toBe(401);
    expect((await visitor.signIn(email, password)).status).toBe(303);
  });

  test('is over when the password is changed while it is under way', async () => {
    const { id, email } = await newPerson();
    const visitor = new DashboardVisitor(service);
    await withClient(service.settings.DATABASE_URL, async (client) => {
      await client.query('BEGIN');
      await client.query(`UPDATE "user" SET password_hash = 'another' WHERE id = $1`, [id]);
      const answering = visitor.signIn(email, password);
      await waitForLock(client);
      await client.query('COMMIT');
      const page = await answering;
      expect(page.status).toBe(401);
      expect(page.text).toContain('The password was changed meanwhile. Sign in with the new one.');
    });
    expect(visitor.cookie).toBe('');
    expect(await service.deps.db.session.count({ where: { userId: id } })).toBe(0);
  });

  test('is refused when another site sends it', async () => {
    const { email } = await newPerson();
    const visitor = new DashboardVisitor(service);
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
    ]) {
      const page = await visitor.post(
        '/dashboard/sign-in',
        { email, password },
        { csrfToken: null, headers },
      );
      expect(page.status).toBe(403);
    }
    expect(visitor.cookie).toBe('');
  });
});

describe('a session', () => {
  test('has another id after signing in, so that one who knew the old one knows nothing', async () => {
    const [first, second] = [await newPerson(), await newPerson()];
    const visitor = await signedIn(first.email);
    const before = visitor.cookie;
    await visitor.signIn(second.email, password);
    expect(visitor.cookie).not.toBe(before);
    const attacker = new DashboardVisitor(service);
    attacker.takeCookies(before);
    expect((await attacker.get('/dashboard/you')).headers.location).toMatch(signInPage);
  });

  test('is used by who opens a page, and not by a page that refreshes itself', async () => {
    const { id, email } = await newPerson();
    const visitor = await signedIn(email);
    const long = new Date(Date.now() - 3_600_000);
    await service.deps.db.session.updateMany({ where: { userId: id }, data: { lastSeenAt: long } });
    const seenAt = async () =>
      (await service.deps.db.session.findFirstOrThrow({ where: { userId: id } })).lastSeenAt;
    expect((await visitor.get('/dashboard/you', { 'hx-request': 'true' })).status).toBe(200);
    await visitor.get('/dashboard/queues/api/queues');
    expect(await seenAt()).toEqual(long);
    expect((await visitor.get('/dashboard/you')).status).toBe(200);
    expect((await seenAt()).getTime()).toBeGreaterThan(long.getTime());
  });

  test("ends by the database's time, whatever this machine's clock says", async () => {
    const { id, email } = await newPerson();
    const visitor = await signedIn(email);
    const sessionIds = async () =>
      (await service.deps.db.session.findMany({ where: { userId: id } })).map((session) => session.id);
    const before = await sessionIds();
    const aheadMs = 8 * 24 * 60 * 60 * 1000;
    const trueNow = Date.now;
    const machine = vi.spyOn(Date, 'now').mockImplementation(() => trueNow() + aheadMs);
    onTestFinished(() => machine.mockRestore());
    expect((await visitor.get('/dashboard/you')).status).toBe(200);
    expect(await sessionIds()).toEqual(before);
  });

  test('that somebody made up is none', async () => {
    const visitor = new DashboardVisitor(service);
    visitor.takeCookies('refunds_session=made-up.signature');
    expect((await visitor.get('/dashboard/you')).headers.location).toMatch(signInPage);
  });

  test('opens nothing after signing out, whoever has kept its cookie', async () => {
    const visitor = await signedIn((await newPerson()).email);
    const kept = visitor.cookie;
    await visitor.get('/dashboard/you');
    expect((await visitor.post('/dashboard/sign-out')).headers.location).toMatch(signInPage);
    const thief = new DashboardVisitor(service);
    thief.takeCookies(kept);
    expect((await thief.get('/dashboard/you')).headers.location).toMatch(signInPage);
  });

  test('can be ended from another browser', async () => {
    const person = await newPerson();
    const [mine, lost] = [await signedIn(person.email), await signedIn(person.email)];
    const page = await mine.get('/dashboard/you');
    const ends = [...page.text.matchAll(/action="([^"]+\/end)"/g)].map(([, url = '']) => url);
    expect(ends).toHaveLength(1);
    await mine.post(ends[0] ?? '');
    expect((await lost.get('/dashboard/you')).headers.location).toMatch(signInPage);
    expect((await mine.get('/dashboard/you')).status).toBe(200);
  });

  test('of somebody else cannot be ended', async () => {
    const [mine, theirs] = [await signedIn((await newPerson()).email), await newPerson()];
    const other = await signedIn(theirs.email);
    const row = await service.deps.db.session.findFirstOrThrow({ where: { userId: theirs.id } });
    await mine.get('/dashboard/you');
    await mine.post(`/dashboard/you/sessions/${row.id}/end`);
    expect((await other.get('/dashboard/you')).status).toBe(200);
  });

  test.each([
    ['without a token', null],
    ['with a wrong token', 'wrong'],
  ])('changes nothing by a form %s', async (_, csrfToken) => {
    const person = await newPerson();
    const visitor = await signedIn(person.email);
    await signedIn(person.email);
    for (const url of [
      '/dashboard/sign-out',
      '/dashboard/you/sessions/end-others',
      '/dashboard/you/password',
    ]) {
      const page = await visitor.post(
        url,
        { current: password, next: 'another horse battery' },
        { csrfToken },
      );
      expect(page.status).toBe(403);
    }
    expect(await service.deps.db.session.count({ where: { userId: person.id } })).toBe(2);
    await signedIn(person.email);
  });

  test('takes no token of another session', async () => {
    const person = await newPerson();
    const [mine, other] = [await signedIn(person.email), await signedIn((await newPerson()).email)];
    const token = /name="_csrf" value="([^"]+)"/.exec((await other.get('/dashboard/you')).text)?.[1] ?? '';
    expect((await mine.post('/dashboard/sign-out', {}, { csrfToken: token })).status).toBe(403);
    expect((await mine.get('/dashboard/you')).status).toBe(200);
  });
});

describe('a changed password', () => {
  test('is the one that counts, and ends every other session', async () => {
    const person = await newPerson();
    const [mine, lost] = [await signedIn(person.email), await signedIn(person.email)];
    await mine.get('/dashboard/you');
    const next = 'another horse battery';
    const page = await mine.post('/dashboard/you/password', { current: password, next });
    expect(page.headers.location).toBe('/dashboard/you?done=password');
    expect((await mine.get('/dashboard/you?done=password')).text).toContain('Your password is changed');
    expect((await lost.get('/dashboard/you')).headers.location).toMatch(signInPage);
    expect((await new DashboardVisitor(service).signIn(person.email, password)).status).toBe(401);
    expect((await new DashboardVisitor(service).signIn(person.email, next)).status).toBe(303);
  });

  test('takes the current one, and one that will do, and says at which field it is wrong', async () => {
    const visitor = await signedIn((await newPerson()).email);
    await visitor.get('/dashboard/you');
    const wrong = await visitor.post('/dashboard/you/password', {
      current: 'x',
      next: 'another horse battery',
    });
    expect(wrong.status).toBe(400);
    expect(wrong.text).toMatch(/id="current-problem"/);
    const short = await visitor.post('/dashboard/you/password', { current: password, next: 'short' });
    expect(short.text).toMatch(/id="next-problem">Has to be 12 to 128 characters/);
  });
});

describe('an invitation', () => {
  const inviteTo = async (email: string) => {
    const organizationId = service.organization.id;
    const { token } = await invite(service.deps, {
      organizationId,
      acting: { userId },
      email,
      role: 'operator',
    });
    return `/dashboard/invitation/${token}`;
  };

  test('makes a new person a member, who is signed in at once, and is used up', async () => {
    const link = await inviteTo('new@example.com');
    const visitor = new DashboardVisitor(service);
    expect((await visitor.get(link)).text).toContain('new@example.com');
    const refused = await visitor.post(link, { password: 'short' });
    expect(refused).toMatchObject({ status: 400 });
    expect(refused.text).toContain('id="password-problem"');
    const page = await visitor.post(link, { password });
    expect(page.headers.location).toBe(`/dashboard/${service.organization.id}/test`);
    expect((await visitor.get('/dashboard/you')).text).toContain('new@example.com');
    const again = await new DashboardVisitor(service).get(link);
    expect(again.status).toBe(404);
    expect(again.text).toContain('This invitation is over');
  });

  test('of somebody who has signed up already is for that person alone', async () => {
    const { id: organizationId } = await createOrganization(service.deps, { name: 'Other', actor: 'test' });
    const known = {
      organizationId,
      email: 'known@example.com',
      password,
      role: 'viewer' as const,
      actor: 'test',
    };
    await createUser(service.deps, known);
    const link = await inviteTo(known.email);
    const stranger = await signedIn((await newPerson()).email);
    expect((await stranger.get(link)).text).toContain('Sign out, and open the link again');
    await stranger.post(link, { password });
    expect((await new DashboardVisitor(service).get(link)).text).toContain('Sign in with it to join');
    const visitor = await signedIn(known.email);
    await visitor.get(link);
    expect((await visitor.post(link)).status).toBe(303);
    const chooser = await visitor.get('/dashboard');
    expect(chooser.text).toContain('Other');
    expect(chooser.text).toContain('Test organization');
  });

  test('that nobody made leads nowhere', async () => {
    const page = await new DashboardVisitor(service).get('/dashboard/invitation/made-up');
    expect(page.status).toBe(404);
  });
});

describe('an organization', () => {
  test('of others is as unknown as one that does not exist', async () => {
    const visitor = await signedIn((await newPerson('owner')).email);
    const theirs = await createOrganization(service.deps, { name: 'Theirs', actor: 'test' });
    const [first, second] = [
      await visitor.get(`/dashboard/${theirs.id}/test`),
      await visitor.get('/dashboard/org_01m8000000000000000000000a/test'),
    ];
    expect(first.status).toBe(404);
    expect(withoutRequestId(second.text)).toBe(withoutRequestId(first.text));
    expect((await visitor.get(`/dashboard/${service.organization.id}/staging`)).status).toBe(404);
  });

  test('has its name shown as text, whatever is in it', async () => {
    const name = '<script>alert(1)</script>"\'><img src=x onerror=alert(1)>';
    const { id: organizationId } = await createOrganization(service.deps, { name, actor: 'test' });
    const email = 'hostile@example.com';
    await createUser(service.deps, { organizationId, email, password, role: 'owner', actor: 'test' });
    const link = await invite(service.deps, {
      organizationId,
      acting: { administration: 'test' },
      email: 'guest@example.com',
      role: 'viewer',
    });
    const { text } = await new DashboardVisitor(service).get(`/dashboard/invitation/${link.token}`);
    expect(text).not.toMatch(/<script>alert|<img src=x/);
    expect(text).toContain('&lt;script>alert(1)');
  });
});

function withoutRequestId(text: string): string {
  return text.replace(/req_[0-9a-z]+/, '');
}

describe('rights that are taken away', () => {
  const sendSlowly = (
    visitor: DashboardVisitor,
    url: string,
    meanwhile: () => Promise<unknown>,
    fields: Record<string, string> = {},
  ) => sendHeld(service, visitor, { method: 'POST', url, fields }, meanwhile);

  const keys = () => `/dashboard/${service.organization.id}/test/settings/api-keys`;
  const keyCount = () => service.deps.db.apiKey.count();

  test('are not used by a form that was begun before', async () => {
    const admin = await signInMember(service, 'admin');
    const before = await keyCount();
    const where = {
      organizationId_userId: { organizationId: service.organization.id, userId: admin.userId },
    };
    const answer = await sendSlowly(admin.visitor, keys(), () =>
      service.deps.db.membership.update({ where, data: { role: 'viewer' } }),
    );
    expect(answer.statusCode).toBe(403);
    expect(await keyCount()).toBe(before);
  });

  test('are not used by a form of a session that has ended meanwhile', async () => {
    const admin = await signInMember(service, 'admin');
    const before = await keyCount();
    const answer = await sendSlowly(admin.visitor, keys(), () =>
      service.deps.db.session.deleteMany({ where: { userId: admin.userId } }),
    );
    expect(answer.statusCode).toBe(403);
    expect(await keyCount()).toBe(before);
  });

  test.each([
    ['ends no other', () => '/dashboard/you/sessions/end-others', {}],
    ['ends not the one', (id: string) => `/dashboard/you/sessions/${id}/end`, {}],
    [
      'changes no password',
      () => '/dashboard/you/password',
      { current: password, next: 'another horse battery' },
    ],
  ] as const)('are not those of a session that was ended meanwhile: it %s', async (_, url, fields) => {
    const person = await newPerson();
    const [lost, mine] = [await signedIn(person.email), await signedIn(person.email)];
    await mine.get('/dashboard/you');
    const { id } = await service.deps.db.session.findFirstOrThrow({
      where: { userId: person.id },
      orderBy: { id: 'desc' },
    });
    const answer = await sendSlowly(
      lost,
      url(id),
      () => mine.post('/dashboard/you/sessions/end-others'),
      fields,
    );
    expect(answer.statusCode).toBe(403);
    expect((await mine.get('/dashboard/you')).status).toBe(200);
    await signedIn(person.email);
  });

  test('do not come back by an invitation that was made before', async () => {
    const admin = await signInMember(service, 'admin');
    const organizationId = service.organization.id;
    const acting = { userId: admin.userId };
    const { token } = await invite(service.deps, {
      organizationId,
      acting,
      email: 'self@example.com',
      role: 'admin',
    });
    const demotion = { organizationId, actingUserId: userId, userId: admin.userId, role: 'viewer' as const };
    await changeRole(service.deps, demotion);
    expect((await new DashboardVisitor(service).get(`/dashboard/invitation/${token}`)).status).toBe(404);
  });

  test('end with the password, also for a copy of the cookie', async () => {
    const person = await newPerson();
    const mine = await signedIn(person.email);
    const thief = new DashboardVisitor(service);
    thief.takeCookies(mine.cookie);
    await mine.get('/dashboard/you');
    await mine.post('/dashboard/you/password', { current: password, next: 'another horse battery' });
    expect((await mine.get('/dashboard/you')).status).toBe(200);
    expect((await thief.get('/dashboard/you')).headers.location).toMatch(signInPage);
  });
});
