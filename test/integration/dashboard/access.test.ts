import { beforeAll, expect, test } from 'vitest';
import type { Role } from '#shared/platform/database.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { DashboardVisitor, type FormOptions, type Page } from '../../support/dashboard/dashboard-visitor.ts';
import { noteRegisteredRoutes } from '../../support/http/registered-routes.ts';
import { unknownRefundId } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';

/** Who may use a route: everyone, signed-in users, or members of the organization with at least this role. */
type Access = 'everyone' | 'signed in' | Role;

const base = '/dashboard/:organizationId/:environment';

/** Every route except those of the queue board, which has its own table. An unlisted one fails the first test. */
const table: Record<string, Access> = {
  'GET /dashboard/sign-in': 'everyone',
  'POST /dashboard/sign-in': 'everyone',
  'POST /dashboard/sign-in/code': 'everyone',
  'GET /dashboard/password-reset': 'everyone',
  'POST /dashboard/password-reset': 'everyone',
  'GET /dashboard/password-reset/:token': 'everyone',
  'POST /dashboard/password-reset/:token': 'everyone',
  'GET /dashboard/sign-in/company/:organizationId': 'everyone',
  'GET /dashboard/sign-in/company/callback': 'everyone',
  'GET /dashboard/set-up': 'everyone',
  'POST /dashboard/set-up': 'everyone',
  'GET /dashboard/invitation/:token': 'everyone',
  'POST /dashboard/invitation/:token': 'everyone',
  'GET /dashboard': 'signed in',
  'POST /dashboard/sign-out': 'signed in',
  'GET /dashboard/you': 'signed in',
  'POST /dashboard/you/password': 'signed in',
  'POST /dashboard/you/second-factor': 'signed in',
  'POST /dashboard/you/second-factor/enable': 'signed in',
  'POST /dashboard/you/second-factor/recovery-codes': 'signed in',
  'POST /dashboard/you/second-factor/disable': 'signed in',
  'POST /dashboard/you/sessions/end-others': 'signed in',
  'POST /dashboard/you/sessions/:id/end': 'signed in',
  [`GET ${base}`]: 'viewer',
  [`GET ${base}/health`]: 'operator',
  [`GET ${base}/reconciliation`]: 'operator',
  [`POST ${base}/reconciliation`]: 'operator',
  [`GET ${base}/reconciliation/:runId`]: 'operator',
  [`GET ${base}/payments/:id`]: 'viewer',
  [`GET ${base}/webhooks`]: 'operator',
  [`POST ${base}/webhooks`]: 'admin',
  [`GET ${base}/webhooks/:endpointId`]: 'operator',
  [`POST ${base}/webhooks/:endpointId`]: 'admin',
  [`POST ${base}/webhooks/:endpointId/status`]: 'admin',
  [`POST ${base}/webhooks/:endpointId/rotate-secret`]: 'admin',
  [`POST ${base}/webhooks/:endpointId/delete`]: 'admin',
  [`POST ${base}/webhooks/:endpointId/test`]: 'operator',
  [`POST ${base}/webhooks/:endpointId/recover`]: 'operator',
  [`GET ${base}/webhooks/:endpointId/deliveries/:deliveryId`]: 'operator',
  [`POST ${base}/webhooks/:endpointId/deliveries/:deliveryId/retry`]: 'operator',
  [`GET ${base}/policies`]: 'viewer',
  [`POST ${base}/policies`]: 'admin',
  [`GET ${base}/policies/new`]: 'admin',
  [`GET ${base}/policies/edit`]: 'admin',
  [`POST ${base}/policies/replay`]: 'admin',
  [`POST ${base}/policies/block`]: 'admin',
  [`POST ${base}/policies/delete`]: 'admin',
  [`GET ${base}/search`]: 'viewer',
  [`GET ${base}/refunds`]: 'viewer',
  [`GET ${base}/refunds/results`]: 'viewer',
  [`GET ${base}/refunds/export`]: 'viewer',
  [`GET ${base}/refunds/new`]: 'operator',
  [`POST ${base}/refunds/new`]: 'operator',
  [`GET ${base}/refunds/:id`]: 'viewer',
  [`GET ${base}/refunds/:id/state`]: 'viewer',
  [`POST ${base}/refunds/decisions`]: 'operator',
  [`POST ${base}/refunds/:id/cancel`]: 'operator',
  [`POST ${base}/refunds/:id/approve`]: 'operator',
  [`POST ${base}/refunds/:id/reject`]: 'operator',
  [`POST ${base}/refunds/:id/recheck`]: 'operator',
  [`POST ${base}/refunds/:id/resolve`]: 'operator',
  [`POST ${base}/refunds/:id/note`]: 'operator',
  [`GET ${base}/batches`]: 'viewer',
  [`POST ${base}/batches`]: 'operator',
  [`GET ${base}/batches/:id`]: 'viewer',
  [`GET ${base}/batches/:id/results`]: 'viewer',
  [`POST ${base}/batches/:id/pause`]: 'operator',
  [`POST ${base}/batches/:id/resume`]: 'operator',
  [`GET ${base}/approvals`]: 'viewer',
  [`POST ${base}/approvals/:id/approve`]: 'operator',
  [`POST ${base}/approvals/:id/reject`]: 'operator',
  [`GET ${base}/agents`]: 'viewer',
  [`POST ${base}/agents/:keyId/status`]: 'admin',
  [`GET ${base}/settings`]: 'viewer',
  [`GET ${base}/settings/api-keys`]: 'viewer',
  [`POST ${base}/settings/api-keys`]: 'admin',
  [`POST ${base}/settings/api-keys/:keyId/revoke`]: 'admin',
  [`GET ${base}/settings/accounts`]: 'viewer',
  [`GET ${base}/settings/accounts/:processor`]: 'admin',
  [`POST ${base}/settings/accounts/:processor`]: 'admin',
  [`POST ${base}/settings/accounts/:processor/test`]: 'admin',
  [`GET ${base}/settings/accounts/:processor/metadata`]: 'admin',
  [`POST ${base}/settings/accounts/:processor/metadata`]: 'admin',
  [`GET ${base}/settings/members`]: 'viewer',
  [`POST ${base}/settings/members/:userId/role`]: 'admin',
  [`POST ${base}/settings/members/:userId/remove`]: 'admin',
  [`POST ${base}/settings/members/second-factor`]: 'admin',
  [`POST ${base}/settings/members/leave`]: 'viewer',
  [`POST ${base}/settings/members/invitations`]: 'admin',
  [`POST ${base}/settings/members/invitations/:invitationId/revoke`]: 'admin',
  [`GET ${base}/settings/company-sign-in`]: 'owner',
  [`POST ${base}/settings/company-sign-in`]: 'owner',
  [`POST ${base}/settings/company-sign-in/test`]: 'owner',
  [`POST ${base}/settings/company-sign-in/rule`]: 'owner',
  [`GET ${base}/settings/notifications`]: 'admin',
  [`POST ${base}/settings/notifications`]: 'admin',
  [`POST ${base}/settings/notifications/test`]: 'admin',
  [`POST ${base}/settings/notifications/remove`]: 'admin',
  [`GET ${base}/settings/approvals`]: 'viewer',
  [`POST ${base}/settings/approvals`]: 'owner',
  [`GET ${base}/settings/audit-log`]: 'admin',
  [`GET ${base}/settings/audit-log/export`]: 'admin',
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
const closed = rows.filter(({ access }) => access !== 'everyone');
const posts = rows.filter(({ method }) => method === 'POST');
const ofOrganization = closed.filter(({ access }) => access !== 'signed in');

const registered = noteRegisteredRoutes();
const service = useService({ workers: 0 });
let foreignId: string;
const visitors = new Map<Role, DashboardVisitor>();

beforeAll(async () => {
  foreignId = (await service.addOrganization('Someone else')).id;
  for (const role of roles) visitors.set(role, (await signInMember(service, role)).visitor);
});

/** A path with its parameters filled in: an organization and unknown ids. */
function filled(url: string, organizationId = service.organization.id): string {
  const values: Record<string, string> = {
    organizationId,
    environment: 'test',
    id: unknownRefundId,
    token: 'invite_unknown',
    processor: 'stripe',
    keyId: unknownRefundId.replace('ref_', 'key_'),
    userId: unknownRefundId.replace('ref_', 'usr_'),
    endpointId: unknownRefundId.replace('ref_', 'we_'),
    deliveryId: unknownRefundId.replace('ref_', 'del_'),
    invitationId: unknownRefundId.replace('ref_', 'inv_'),
  };
  return url.replace(/:(\w+)/g, (_, name: string) => values[name] ?? 'unknown');
}

async function send(
  visitor: DashboardVisitor,
  { method, url }: Row,
  options: FormOptions & { organizationId?: string } = {},
): Promise<Page> {
  const path = filled(url, options.organizationId);
  return method === 'GET' ? await visitor.get(path, options.headers) : await visitor.post(path, {}, options);
}

function as(role: Role): DashboardVisitor {
  const visitor = visitors.get(role);
  if (visitor === undefined) throw new Error(`No visitor with the role ${role}`);
  return visitor;
}

/** The registered routes, without the queue board and the assets. */
function dashboardRoutes() {
  return registered.filter(
    ({ url }) => url.startsWith('/dashboard') && !/^\/dashboard\/(queues|assets)/.test(url),
  );
}

test('the table lists every route of the dashboard', () => {
  const found = dashboardRoutes()
    .filter(({ method }) => method === 'GET' || method === 'POST')
    .map(({ method, url }) => `${method} ${url}`);
  // A route that only answers 405 has a listed counterpart.
  const counterpart = (route: string) =>
    route.replace(/^\w+/, (method) => (method === 'GET' ? 'POST' : 'GET'));
  expect(found.filter((route) => !(route in table) && !(counterpart(route) in table))).toEqual([]);
  expect(Object.keys(table).filter((route) => !found.includes(route))).toEqual([]);
});

test('every other method is refused with 405', async () => {
  const others = dashboardRoutes().filter(({ method }) => !['GET', 'HEAD', 'POST'].includes(method));
  expect(others.length).toBeGreaterThan(0);
  for (const { method, url } of others) {
    const answer = await service.app.inject({ method: method as 'PUT', url: filled(url) });
    expect(answer.statusCode, `${method} ${url}`).toBe(405);
  }
});

test.each(named(closed))('%s redirects a visitor without a session to the sign-in page', async (_, row) => {
  const page = await send(new DashboardVisitor(service), row);
  expect(page.status).toBe(303);
  expect(page.headers.location).toMatch(/^\/dashboard\/sign-in/);
});

test.each(named(posts))('%s refuses a form of another site', async (_, row) => {
  const page = await send(as('owner'), row, { headers: { 'sec-fetch-site': 'cross-site' } });
  expect(page.status).toBe(403);
});

test.each(named(posts.filter(({ access }) => access !== 'everyone')))(
  '%s refuses a form without a CSRF token of the session',
  async (_, row) => {
    for (const csrfToken of [null, 'wrong']) {
      const page = await send(as('owner'), row, { csrfToken });
      expect(page.status).toBe(403);
      expect(page.text).toContain('This form has expired.');
    }
  },
);

test.each(named(ofOrganization.filter(({ access }) => access !== 'viewer')))(
  '%s refuses every role below the required one',
  async (_, row) => {
    for (const role of roles.slice(0, roles.indexOf(row.access as Role))) {
      const page = await send(as(role), row);
      expect(page.status, role).toBe(403);
      expect(page.text, role).toContain(`This requires the ${row.access} role.`);
    }
  },
);

test('refused requests change nothing', async () => {
  const where = { actor: { startsWith: 'user:' }, action: { not: 'user.signed_in' } };
  expect(await service.deps.db.auditLog.count({ where })).toBe(0);
});

test.each(named(rows))('%s refuses a NUL character, which the database cannot store', async (_, row) => {
  const url = filled(row.url);
  const page =
    row.method === 'GET'
      ? await as('owner').get(`${url}?q=%00`)
      : await as('owner').post(url, { reason: 'a\0b' });
  expect(page.status).toBe(400);
  expect(page.text).toContain('must not contain a NUL character');
});

test.each(named(ofOrganization))('%s treats another organization like an unknown one', async (_, row) => {
  const unknownId = unknownRefundId.replace('ref_', 'org_');
  const [foreign, unknown] = [
    await send(as('owner'), row, { organizationId: foreignId }),
    await send(as('owner'), row, { organizationId: unknownId }),
  ];
  expect(foreign.status).toBe(404);
  const [one, other] = [foreign, unknown].map(({ text }) => text.replace(/req_[0-9a-z]+/, ''));
  expect(one).toBe(other);
});

// Leaving would end the membership that the other tests need.
test.each(named(ofOrganization.filter(({ url }) => !url.endsWith('/leave'))))(
  '%s admits the required role',
  async (_, row) => {
    const page = await send(as(row.access as Role), row);
    expect([200, 303, 400, 404, 409]).toContain(page.status);
    expect(String(page.headers.location)).not.toContain('/sign-in');
    expect(page.text).not.toContain('This requires the');
  },
);
