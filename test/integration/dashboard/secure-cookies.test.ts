import { describe, expect, test } from 'vitest';
import type { ServiceSettings } from '#shared/platform/config.ts';
import { DashboardVisitor } from '../../support/dashboard/dashboard-visitor.ts';
import { newPerson } from '../../support/people.ts';
import type { TestService } from '../../support/service.ts';
import { useService } from '../../support/use-service.ts';

const withSettings = (settings: Partial<ServiceSettings>) => useService({ workers: 0, settings });
const development = withSettings({});
const direct = withSettings({ NODE_ENV: 'production', TRUSTED_PROXIES: [] });
const proxied = withSettings({ NODE_ENV: 'production', TRUSTED_PROXIES: ['192.0.2.1'] });

const host = 'refunds.example.com';
const overTls = { host, origin: `https://${host}` };
const plain = { host, origin: `http://${host}` };

async function signIn(service: TestService, headers: Record<string, string>) {
  const { userId, email, password } = await newPerson(service.deps, service.organization.id, 'viewer');
  const visitor = new DashboardVisitor(service, '192.0.2.1');
  const page = await visitor.post('/dashboard/sign-in', { email, password }, { csrfToken: null, headers });
  const cookies = [page.headers['set-cookie'] ?? []].flat();
  const sessions = await service.deps.db.session.count({ where: { userId } });
  return { visitor, page, cookies, sessions };
}

describe('the cookies of a sign-in', () => {
  test.each<[string, TestService, Record<string, string>]>([
    ['over TLS that ends at a trusted proxy', proxied, { host, 'x-forwarded-proto': 'https' }],
    ['over TLS that ends at a proxy which is not trusted', direct, overTls],
    ['over TLS that ends at a proxy which changes the host', direct, { ...overTls, host: '127.0.0.1:3000' }],
    ['in production without an origin', direct, { host }],
    ['over TLS outside of production', development, overTls],
  ])('are Secure %s', async (_, service, headers) => {
    const { visitor, page, cookies, sessions } = await signIn(service, headers);
    expect([page.status, sessions]).toEqual([303, 1]);
    expect(cookies.map((cookie) => cookie.split('=', 1)[0]).toSorted()).toEqual([
      'refunds_known_browser',
      'refunds_session',
    ]);
    for (const cookie of cookies) expect(cookie).toMatch(/; Secure(;|$)/);
    expect((await visitor.get('/dashboard/you', { host })).status).toBe(200);
  });

  test.each<[string, TestService, Record<string, string>]>([
    ['on localhost', direct, { host: 'localhost:3000', origin: 'http://localhost:3000' }],
    ['on 127.0.0.1, by a program', direct, { host: '127.0.0.1:3000' }],
    ['on [::1]', direct, { host: '[::1]:3000', origin: 'http://[::1]:3000' }],
    ['outside of production', development, plain],
    ['through a proxy that is not trusted', development, { ...plain, 'x-forwarded-proto': 'https' }],
  ])('are not Secure over http %s, and closed to scripts and other sites', async (_, service, headers) => {
    const { page, cookies } = await signIn(service, headers);
    expect(page.status).toBe(303);
    expect(cookies.toSorted()).toEqual([
      expect.stringMatching(
        /^refunds_known_browser=[^;]+; Max-Age=7776000; Path=\/dashboard; HttpOnly; SameSite=Strict$/,
      ),
      expect.stringMatching(
        /^refunds_session=[^;]+; Path=\/dashboard; Expires=[^;]+; HttpOnly; SameSite=Lax$/,
      ),
    ]);
  });

  test.each([
    ['a direct connection', direct, plain],
    ['a proxy', proxied, { ...plain, 'x-forwarded-proto': 'http' }],
  ] as const)(
    'are not set in production over http through %s, and the page says what to do',
    async (_, service, headers) => {
      const { page, cookies, sessions } = await signIn(service, headers);
      expect([page.status, sessions]).toEqual([403, 0]);
      expect(page.text).toContain('This page was opened over http. Open it with https:// and sign in there.');
      expect(cookies).toEqual([]);
    },
  );
});
