import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { DashboardVisitor, type Page } from '../../support/dashboard/dashboard-visitor.ts';
import { rawRequest, sendBytes } from '../../support/http/raw-http.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
let room: string;
const visitors: Record<string, DashboardVisitor> = {};
beforeAll(async () => {
  room = `/dashboard/${service.organization.id}/test`;
  visitors['nobody we know'] = new DashboardVisitor(service);
  visitors['a member'] = (await signInMember(service, 'viewer')).visitor;
});

const withoutRequestId = ({ text }: Page) => text.replace(/req_[0-9a-z]+/, '');

function expectPage(page: Page, title: string): void {
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(page.headers['content-security-policy']).toContain("default-src 'none'");
  expect(page.headers['cache-control']).toBe('no-store');
  expect(page.text).toMatch(/^<!doctype html>/);
  expect(page.text).toContain(title);
  expect(page.text).toContain('href="/dashboard"');
}

describe.each(['nobody we know', 'a member'])('%s', (who) => {
  const open = async (url: string, headers = {}) =>
    await (visitors[who] as DashboardVisitor).get(url, headers);

  test('is told by a page that an address does not exist', async () => {
    for (const url of ['/dashboard/nothing', '/dashboard/org_x', `${room}/settings/nothing/more`]) {
      const page = await open(url);
      expect(page.status, url).toBe(404);
      expectPage(page, 'There is no such page');
    }
  });

  test('is told by a page that an address only takes a form', async () => {
    for (const url of ['/dashboard/sign-out', '/dashboard/you/password', `${room}/policies/preview`]) {
      const page = await open(url);
      expect(page.status, url).toBe(405);
      expect(page.headers.allow, url).toBe('POST');
      expectPage(page, 'This address has no page');
    }
  });

  test('is told by a part where a part of a page was asked for', async () => {
    const page = await open('/dashboard/nothing', { 'hx-request': 'true' });
    expect(page.status).toBe(404);
    expect(page.text).toContain('No such page.');
    expect(page.text).not.toContain('<html');
  });

  test('comes from an address with a slash at its end to the one without', async () => {
    const addresses = [
      ['/dashboard/', '/dashboard'],
      ['/dashboard/sign-in/?next=%2Fdashboard%2F', '/dashboard/sign-in?next=%2Fdashboard%2F'],
      [`${room}/`, room],
      [`${room}/refunds/?q=a+b`, `${room}/refunds?q=a+b`],
      ['/dashboard/nothing//', '/dashboard/nothing'],
      ['/dashboard//example.com/', '/dashboard//example.com'],
    ] as const;
    for (const [url, without] of addresses) {
      const page = await open(url);
      expect({ status: page.status, location: page.headers.location }, url).toEqual({
        status: 308,
        location: without,
      });
    }
  });
});

test('whoever asks for what does not exist is told the same', async () => {
  const [stranger, member] = Object.values(visitors) as [DashboardVisitor, DashboardVisitor];
  for (const url of [`${room}/settings/nothing/more`, `${room}/policies/preview`]) {
    expect(withoutRequestId(await stranger.get(url))).toBe(withoutRequestId(await member.get(url)));
  }
});

test('a program is told in JSON, also next to the dashboard', async () => {
  for (const url of ['/dashboardless', '/v1/nothing', '/v1/refunds/']) {
    const answer = await service.app.inject({ method: 'PUT', url });
    expect(answer.headers['content-type'], url).toMatch(/^application\/json/);
    expect(answer.headers.location, url).toBeUndefined();
  }
});

describe('an address that only leads to a page when it is decoded, or names a host', () => {
  test.each([
    ['GET', '/%64ashboard/sign-in'],
    ['POST', '/%64ashboard/sign-in'],
    ['POST', '/dashboar%64/set-up'],
    ['GET', '/%64ashboard'],
    ['POST', 'http://dashboard.invalid/dashboard/sign-in'],
  ])('has nothing behind it: %s %s', async (method, address) => {
    if (!service.app.server.listening) await service.app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = service.app.server.address() as AddressInfo;
    const form = 'email=nobody%40example.com&password=not-the-password';
    const { status, text } = await sendBytes(
      port,
      rawRequest(
        [
          `${method} ${address} HTTP/1.1`,
          'Host: dashboard.invalid',
          'Connection: close',
          'Sec-Fetch-Site: same-origin',
          'Content-Type: application/x-www-form-urlencoded',
          `Content-Length: ${method === 'POST' ? form.length : 0}`,
        ],
        method === 'POST' ? form : '',
      ),
    );
    expect(status).toBe(404);
    expect(text).toContain('No such page');
  });
});
