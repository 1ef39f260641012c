import { beforeAll, describe, expect, test } from 'vitest';
import type { Role } from '../../../shared/platform/database.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { DashboardVisitor, type FormOptions, type Page } from '../../support/dashboard/dashboard-visitor.ts';
import { noteRegisteredRoutes } from '../../support/http/registered-routes.ts';
import { unknownRefundId } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';

/** Who may use a route: everybody, whoever is signed in, or members of the organization from that role on. */
type Access = 'anybody' | 'signed in' | Role;

const room = '/dashboard/:organizationId/:environment';

/**
 * Every route of the dashboard but those of the queue board, which has a table of its own. One that is registered and not
 * listed here fails the first test.
 */
const table: Record<string, Access> = {
  'GET /dashboard/sign-in': 'anybody',
  'POST /dashboard/sign-in': 'anybody',
  'GET /dashboard/set-up': 'anybody',
  'POST /dashboard/set-up': 'anybody',
  'GET /dashboard/invitation/:token': 'anybody',
  'POST /dashboard/invitation/:token': 'anybody',
  'GET /dashboard': 'signed in',
  'POST /dashboard/sign-out': 'signed in',
  'GET /dashboard/you': 'signed in',
  'POST /dashboard/you/password': 'signed in',
  'POST /dashboard/you/sessions/end-others': 'signed in',
  'POST /dashboard/you/sessions/:id/end': 'signed in',
  [`GET ${room}`]: 'viewer',
  [`GET ${room}/policies`]: 'viewer',
  [`POST ${room}/policies`]: 'admin',
  [`GET ${room}/policies/new`]: 'admin',
  [`GET ${room}/policies/edit`]: 'admin',
  [`POST ${room}/policies/preview`]: 'admin',
  [`POST ${room}/policies/delete`]: 'admin',
  [`GET ${room}/refunds`]: 'viewer',
  [`GET ${room}/refunds/results`]: 'viewer',
  [`GET ${room}/refunds/export`]: 'viewer',
  [`GET ${room}/refunds/export/progress`]: 'viewer',
  [`GET ${room}/refunds/new`]: 'operator',
  [`POST ${room}/refunds/new`]: 'operator',
  [`GET ${room}/refunds/:id`]: 'viewer',
  [`GET ${room}/refunds/:id/state`]: 'viewer',
  [`POST ${room}/refunds/:id/cancel`]: 'operator',
  [`POST ${room}/refunds/:id/approve`]: 'operator',
  [`POST ${room}/refunds/:id/reject`]: 'operator',
  [`POST ${room}/refunds/:id/recheck`]: 'operator',
  [`POST ${room}/refunds/:id/resolve`]: 'operator',
  [`GET ${room}/settings`]: 'viewer',
  [`GET ${room}/settings/api-keys`]: 'viewer',
  [`POST ${room}/settings/api-keys`]: 'admin',
  [`POST ${room}/settings/api-keys/:keyId/revoke`]: 'admin',
  [`GET ${room}/settings/accounts`]: 'viewer',
  [`GET ${room}/settings/accounts/:processor`]: 'admin',
  [`POST ${room}/settings/accounts/:processor`]: 'admin',
  [`POST ${room}/settings/accounts/:processor/test`]: 'admin',
  [`GET ${room}/settings/members`]: 'viewer',
  [`POST ${room}/settings/members/:userId/role`]: 'admin',
  [`POST ${room}/settings/members/:userId/remove`]: 'admin',
  [`POST ${room}/settings/members/leave`]: 'viewer',
  [`POST ${room}/settings/members/invitations`]: 'admin',
  [`POST ${room}/settings/members/invitations/:invitationId/revoke`]: 'admin',
  [`GET ${room}/settings/audit-log`]: 'admin',
};

interface Row {
  route: string;
  method: string;
  url: string;
  access: Access;
}

const rows: Row[] = Object.entries(table).map(([route, access]) => {
  const [method = '', url = ''] = route.split(' ');
  return { route, method, url, access };
});
const named = (some: readonly Row[]) => some.map((row) => [row.route, row] as const);
const roles: readonly Role[] = ['viewer', 'operator', 'admin', 'owner'];
const closed = rows.filter(({ access }) => access !== 'anybody');
const changing = closed.filter(({ method }) => method === 'POST');
const ofOrganization = closed.filter(({ access }) => access !== 'signed in');
const abovePlainMember = ofOrganization.filter(({ access }) => access !== 'viewer');

const registered = noteRegisteredRoutes();
const service = useService({ workers: 0 });
let theirs: string;
const visitors = new Map<Role, DashboardVisitor>();

beforeAll(async () => {
  theirs = (await service.addOrganization('Somebody else')).id;
  for (const role of roles) {
    const { visitor } = await signInMember(service, role);
    visitors.set(role, visitor);
  }
});

/** An address with something in each place: an organization, and ids that nobody has. */
function filled(url: string, organizationId = service.organization.id): string {
  const values: Record<string, string> = {
    organizationId,
    environment: 'test',
    id: unknownRefundId,
    token: 'invite_unknown',
    processor: 'stripe',
    keyId: unknownRefundId.replace('ref_', 'key_'),
    userId: unknownRefundId.replace('ref_', 'usr_'),
    invitationId: unknownRefundId.replace('ref_', 'inv_'),
  };
  return url.replace(/:(\w+)/g, (_, name: string) => values[name] ?? 'unknown');
}

async function use(
  visitor: DashboardVisitor,
  { method }: Row,
  url: string,
  options: FormOptions = {},
): Promise<Page> {
  return method === 'GET' ? await visitor.get(url, options.headers) : await visitor.post(url, {}, options);
}

function as(role: Role): DashboardVisitor {
  const visitor = visitors.get(role);
  if (visitor === undefined) throw new Error(`Nobody has signed in as ${role}`);
  return visitor;
}

test('every route of the dashboard is in the table', () => {
  const found = ofDashboard()
    .filter(({ method }) => method === 'GET' || method === 'POST')
    .map(({ method, url }) => `${method} ${url}`);
  expect(found.filter((route) => !(route in table) && !is405(route))).toEqual([]);
  expect(Object.keys(table).filter((route) => !found.includes(route))).toEqual([]);
});

test('other methods than those of pages and forms are not taken', async () => {
  const others = ofDashboard().filter(({ method }) => !['GET', 'HEAD', 'POST'].includes(method));
  expect(others.length).toBeGreaterThan(0);
  for (const { method, url } of others) {
    const answer = await service.app.inject({ method: method as 'PUT', url: filled(url) });
    expect(answer.statusCode, `${method} ${url}`).toBe(405);
  }
});

/** What is registered under `/dashboard`, but for the queue board and the files that pages are made of. */
function ofDashboard() {
  return registered.filter(
    ({ url }) => url.startsWith('/dashboard') && !/^\/dashboard\/(queues|assets)/.test(url),
  );
}

/** True for a method that is only there to be told that another one is taken. */
function is405(route: string): boolean {
  const [method, url] = route.split(' ');
  const other = method === 'GET' ? 'POST' : 'GET';
  return `${other} ${url}` in table;
}

describe('who is not signed in', () => {
  test.each(named(closed))('is sent to sign in by %s', async (_, row) => {
    const page = await use(new DashboardVisitor(service), row, filled(row.url));
    expect(page.status).toBe(303);
    expect(page.headers.location).toMatch(/^\/dashboard\/sign-in/);
  });
});

describe('what another site has a browser send', () => {
  test.each(named(rows.filter(({ method }) => method === 'POST')))('is refused by %s', async (_, row) => {
    const page = await use(as('owner'), row, filled(row.url), {
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    expect(page.status).toBe(403);
  });
});

describe('a form without the token of its session', () => {
  test.each(named(changing))('is refused by %s', async (_, row) => {
    for (const csrfToken of [null, 'wrong']) {
      const page = await use(as('owner'), row, filled(row.url), { csrfToken });
      expect(page.status).toBe(403);
      expect(page.text).toContain('The form is too old');
    }
  });
});

describe('a viewer', () => {
  test.each(named(abovePlainMember))('is refused by %s', async (_, row) => {
    const page = await use(as('viewer'), row, filled(row.url));
    expect(page.status).toBe(403);
    expect(page.text).toContain(`This takes the role ${row.access}`);
  });

  test('has changed nothing by all of that', async () => {
    const { db } = service.deps;
    const acts = { actor: { startsWith: 'user:' }, action: { not: 'user.signed_in' } };
    expect(await db.auditLog.count({ where: acts })).toBe(0);
  });
});

describe('an operator', () => {
  const above = abovePlainMember.filter(({ access }) => access === 'admin' || access === 'owner');
  test.each(named(above))('is refused by %s', async (_, row) => {
    expect((await use(as('operator'), row, filled(row.url))).status).toBe(403);
  });
});

describe('a character that the database cannot hold', () => {
  test.each(named(rows))('is refused in words by %s', async (_, row) => {
    const url = filled(row.url);
    const page =
      row.method === 'GET'
        ? await as('owner').get(`${url}?q=%00`)
        : await as('owner').post(url, { reason: 'a\0b' });
    expect(page.status).toBe(400);
    expect(page.text).toContain('must not hold a NUL character');
  });
});

describe('another organization', () => {
  test.each(named(ofOrganization))('is unknown to %s, also for the owner of this one', async (_, row) => {
    const page = await use(as('owner'), row, filled(row.url, theirs));
    expect(page.status).toBe(404);
    const unknown = await use(as('owner'), row, filled(row.url, unknownRefundId.replace('ref_', 'org_')));
    expect(withoutRequestId(unknown.text)).toBe(withoutRequestId(page.text));
  });
});

describe('whoever may', () => {
  // Leaving would end the membership that the other tests need.
  const staying = ofOrganization.filter(({ url }) => !url.endsWith('/leave'));
  test.each(named(staying))('is let in by %s', async (_, row) => {
    const role = roles.find((each) => each === row.access) ?? 'owner';
    const page = await use(as(role), row, filled(row.url));
    expect([200, 303, 400, 404, 409]).toContain(page.status);
    expect(String(page.headers.location)).not.toContain('/sign-in');
    expect(page.text).not.toContain('This takes the role');
  });
});

function withoutRequestId(text: string): string {
  return text.replace(/req_[0-9a-z]+/, '');
}
