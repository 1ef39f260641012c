import type { AddressInfo } from 'node:net';
import { beforeAll, expect, test } from 'vitest';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { DashboardVisitor, type Page } from '../../support/dashboard/dashboard-visitor.ts';
import { rawRequest, sendBytes } from '../../support/http/raw-http.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
let base: string;
let visitors: DashboardVisitor[];
beforeAll(async () => {
  base = `/dashboard/${service.organization.id}/test`;
  const { visitor } = await signInMember(service, 'viewer');
  visitors = [new DashboardVisitor(service), visitor];
});

function expectPage(page: Page): void {
  expect(page.headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': expect.stringContaining("default-src 'none'"),
    'cache-control': 'no-store',
  });
  expect(page.text).toMatch(/^<!doctype html>/);
  expect(page.text).toContain('<h1>Page not found</h1>');
  expect(page.text).toMatch(/Request ID: <code>req_[0-9a-z]+<\/code>/);
  expect(page.text).toContain('href="/dashboard"');
}

/** The page at an address, after a look whether a member and everyone else get the same. */
async function open(url: string, headers = {}): Promise<Page> {
  const [page, other] = await Promise.all(visitors.map((visitor) => visitor.get(url, headers)));
  const [one, same] = [page, other].map((each) => each?.text.replace(/req_[0-9a-z]+/, ''));
  expect(one, url).toBe(same);
  return page as Page;
}

test('an unknown address responds with a page, the same for everyone', async () => {
  for (const url of ['/dashboard/nothing', '/dashboard/org_x', `${base}/settings/nothing/more`]) {
    const page = await open(url);
    expect(page.status, url).toBe(404);
    expectPage(page);
  }
});

test('a browser gets a page for any unknown address, and a program an error', async () => {
  const page = await open('/approvals', { accept: 'text/html,*/*' });
  expect(page.status).toBe(404);
  expectPage(page);
  expect((await open('/approvals', { accept: '*/*' })).headers['content-type']).toContain('json');
});

test('an address that only accepts forms responds with a page, the same for everyone', async () => {
  for (const url of ['/dashboard/sign-out', '/dashboard/you/password', `${base}/policies/replay`]) {
    const page = await open(url);
    expect(page, url).toMatchObject({ status: 405, headers: { allow: 'POST' } });
    expectPage(page);
  }
});

test('a request for a part of a page gets a part', async () => {
  const page = await open('/dashboard/nothing', { 'hx-request': 'true' });
  expect(page.status).toBe(404);
  expect(page.text).toContain('Page not found.');
  expect(page.text).not.toContain('<html');
});

test('an address with trailing slashes redirects to the one without', async () => {
  const addresses = [
    ['/dashboard/', '/dashboard'],
    ['/dashboard/sign-in/?next=%2Fdashboard%2F', '/dashboard/sign-in?next=%2Fdashboard%2F'],
    [`${base}/`, base],
    [`${base}/refunds/?q=a+b`, `${base}/refunds?q=a+b`],
    ['/dashboard/nothing//', '/dashboard/nothing'],
    ['/dashboard//example.com/', '/dashboard//example.com'],
  ] as const;
  for (const [url, location] of addresses) {
    expect(await open(url), url).toMatchObject({ status: 308, headers: { location } });
  }
});

test('responds with JSON outside of the dashboard', async () => {
  for (const url of ['/dashboardless', '/v1/nothing', '/v1/refunds/']) {
    const answer = await service.app.inject({ method: 'PUT', url });
    expect(answer.headers['content-type'], url).toMatch(/^application\/json/);
    expect(answer.headers.location, url).toBeUndefined();
  }
});

test.each([
  ['GET', '/%64ashboard/sign-in'],
  ['POST', '/%64ashboard/sign-in'],
  ['POST', '/dashboar%64/set-up'],
  ['GET', '/%64ashboard'],
  ['POST', 'http://dashboard.invalid/dashboard/sign-in'],
])('an encoded or absolute address reaches no page: %s %s', async (method, address) => {
  if (!service.app.server.listening) await service.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = service.app.server.address() as AddressInfo;
  const form = method === 'POST' ? 'email=nobody%40example.com&password=not-the-password' : '';
  const head = [
    `${method} ${address} HTTP/1.1`,
    'Host: dashboard.invalid',
    'Connection: close',
    'Sec-Fetch-Site: same-origin',
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${form.length}`,
  ];
  const { status, text } = await sendBytes(port, rawRequest(head, form));
  expect(status).toBe(404);
  expect(text).toContain('Page not found');
});
