import { beforeAll, expect, test } from 'vitest';
import type { Role } from '#shared/platform/database.ts';
import { newId, newRequestId } from '#shared/platform/ids.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { DashboardVisitor, type FormOptions, type Page } from '../../support/dashboard/dashboard-visitor.ts';
import { filledPath, noteRegisteredRoutes } from '../../support/http/registered-routes.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { unknownRefundId } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';
import { newEndpoint, storeDelivery } from '../../support/webhooks/api-endpoints.ts';

/** Who may use a route: everyone, signed-in users, or members of the organization with at least this role. */
type Access = 'everyone' | 'signed in' | Role;

const base = '/dashboard/:organizationId/:environment';

/** The first rule that matches says who may use a route; its path is the one below the environment. The queue board has its own table. */
const rules: [route: RegExp, access: Access][] = [
  [/ \/dashboard\/(sign-in|set-up|password-reset|invitation)\b/, 'everyone'],
  [/ \/dashboard($|\/(sign-out|you)\b)/, 'signed in'],
  [/ \/settings\/company-sign-in|^POST \/settings\/approvals$/, 'owner'],
  [/^POST \/settings\/members\/leave$/, 'viewer'],
  [
    /^GET \/(settings\/(accounts\/(new|:accountId\/)|api-keys\/agent|customer-texts|notifications|audit-log)|policies\/(new|edit))/,
    'admin',
  ],
  [/^POST \/webhooks\/.*\/(test|recover|retry)$/, 'operator'],
  [/^POST \/(settings|policies|webhooks)\b/, 'admin'],
  [
    /^GET \/(health|failed-requests|processor-events|reconciliation|webhooks|(refunds|batches)\/new)\b/,
    'operator',
  ],
  [/^POST \/(refunds|batches|approvals|reconciliation)\b/, 'operator'],
  [/^GET ($|\/(payments|policies|search|refunds|batches|approvals|settings)\b)/, 'viewer'],
];

interface Row {
  route: string;
  method: string;
  url: string;
  access: Access;
}

const roles: readonly Role[] = ['viewer', 'operator', 'admin', 'owner'];
const registered = noteRegisteredRoutes();
const service = useService({ workers: 0 });
let foreignId: string;
const visitors = new Map<Role, DashboardVisitor>();

beforeAll(async () => {
  foreignId = (await service.addOrganization('Someone else')).id;
  for (const role of roles) visitors.set(role, (await signInMember(service, role)).visitor);
});

/** The registered routes, without the queue board and the assets. */
function dashboardRoutes() {
  return registered.filter(({ url }) => /^\/dashboard(?!\/(queues|assets))/.test(url));
}

/** The routes that do something. */
function rows(): Row[] {
  return dashboardRoutes()
    .filter(({ method, isRefusal }) => !isRefusal && (method === 'GET' || method === 'POST'))
    .map(({ method, url }) => {
      const route = `${method} ${url.replace(base, '')}`;
      const access = rules.find(([pattern]) => pattern.test(route))?.[1];
      if (access === undefined) throw new Error(`No rule says who may use ${route}`);
      return { route, method, url, access };
    });
}

const posts = () => rows().filter(({ method }) => method === 'POST');
const ofOrganization = () => rows().filter(({ access }) => access !== 'everyone' && access !== 'signed in');

const filled = (url: string, organizationId = service.organization.id) => filledPath(url, organizationId);

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

test('every route has a rule', () => {
  expect(rows().length).toBeGreaterThan(80);
});

test('every other method is refused with 405', async () => {
  const others = dashboardRoutes().filter(({ method }) => !['GET', 'HEAD', 'POST'].includes(method));
  expect(others.length).toBeGreaterThan(0);
  for (const { method, url } of others) {
    const answer = await service.app.inject({ method: method as 'PUT', url: filled(url) });
    expect(answer.statusCode, `${method} ${url}`).toBe(405);
  }
});

test('redirects a visitor without a session to the sign-in page', async () => {
  for (const row of rows().filter(({ access }) => access !== 'everyone')) {
    const { status, headers } = await send(new DashboardVisitor(service), row);
    expect([status, headers.location], row.route).toEqual([
      303,
      expect.stringMatching(/^\/dashboard\/sign-in/),
    ]);
  }
});

test('refuses forms of another site, and forms without a CSRF token of the session', async () => {
  for (const row of posts()) {
    const headers = { 'sec-fetch-site': 'cross-site' };
    expect((await send(as('owner'), row, { headers })).status, row.route).toBe(403);
    if (row.access === 'everyone') continue;
    for (const csrfToken of [null, 'wrong']) {
      const page = await send(as('owner'), row, { csrfToken });
      expect(page.status, row.route).toBe(403);
      expect(page.text, row.route).toContain('This form has expired.');
    }
  }
});

test('takes forms from the origin of this host alone', async () => {
  const host = 'refunds.example:3000';
  const statusOf = async (headers: Record<string, string>) => {
    const form = { method: 'POST', url: '/dashboard/sign-in' } as const;
    return (await service.app.inject({ ...form, headers: { host, ...headers } })).statusCode;
  };
  for (const origin of ['http://evil.example', 'http://refunds.example', 'null', '']) {
    expect(await statusOf({ origin }), origin).toBe(403);
  }
  for (const site of ['cross-site', 'same-site', 'none']) {
    const headers = { 'sec-fetch-site': site, origin: `http://${host}` };
    expect(await statusOf(headers), site).toBe(403);
  }
  expect(await statusOf({ origin: `http://${host}` })).not.toBe(403);
});

test('refuses every role below the required one', async () => {
  for (const row of ofOrganization()) {
    for (const role of roles.slice(0, roles.indexOf(row.access as Role))) {
      const page = await send(as(role), row);
      expect(page.status, `${row.route} as ${role}`).toBe(403);
      expect(page.text, row.route).toContain(`This requires the ${row.access} role.`);
    }
  }
});

test('refused requests change nothing', async () => {
  const where = { actor: { startsWith: 'user:' }, action: { not: 'user.signed_in' } };
  expect(await service.deps.db.auditLog.count({ where })).toBe(0);
});

test('refuses a NUL character, which the database cannot store', async () => {
  for (const { method, url, route } of rows()) {
    const page = await (method === 'GET'
      ? as('owner').get(`${filled(url)}?q=%00`)
      : as('owner').post(filled(url), { reason: 'a\0b' }));
    expect(page.status, route).toBe(400);
    expect(page.text, route).toContain('must not contain a NUL character');
  }
});

test('treats another organization like an unknown one', async () => {
  const unknownId = unknownRefundId.replace('ref_', 'org_');
  for (const row of ofOrganization()) {
    const foreign = await send(as('owner'), row, { organizationId: foreignId });
    const unknown = await send(as('owner'), row, { organizationId: unknownId });
    expect(foreign.status, row.route).toBe(404);
    const [one, other] = [foreign, unknown].map(({ text }) => text.replace(/req_[0-9a-z]+/, ''));
    expect(one, row.route).toBe(other);
  }
});

/** What the required role gets from a page that is there, and for an empty form. The first rule that matches says the status. */
const answers: [route: RegExp, status: number][] = [
  [/^GET \/settings$/, 303],
  [/^GET /, 200],
  [/^POST \/settings\/(accounts\/columns|customer-texts|company-sign-in\/test)$/, 303],
  [/^POST \/policies\/delete$/, 409],
  // What the form is about is looked for afterwards.
  [/^POST \/settings\/(api-keys|members)\/:\w+\/(status|role)$/, 400],
  [/^POST \/(reconciliation|settings\/(company-sign-in\/rule|notifications\/(test|remove)))$/, 404],
  // The id names nothing.
  [/^POST .*\/:\w*[iI]d\b/, 404],
  [/^POST /, 400],
];

/** The paths of pages about something, which exists. */
async function pagesOfSomething(): Promise<Record<string, string>> {
  const { db } = service.deps;
  const { id: refundId } = await newRefund(service);
  const rows = [{ transactionId: await newPayment(service), amount: 100, reason: 'other' }];
  const { id: batchId } = (await service.call('POST', '/v1/refund-batches', { body: { rows } })).body.data;
  const { id: endpointId } = await newEndpoint(service);
  const { id: deliveryId } = await storeDelivery(service, endpointId);
  const { id: accountId } = await db.processorAccount.findFirstOrThrow({
    where: { organizationId: service.organization.id, environment: 'test', processor: 'stripe' },
  });
  const { id: runId } = await db.reconciliationRun.create({
    data: {
      ...{ id: newId('rec'), accountId, actor: 'worker', windowStart: new Date(0) },
      ...{ windowEnd: new Date(), startedAt: new Date(), finishedAt: new Date() },
    },
  });
  const requestId = newRequestId();
  await db.failedRequest.create({
    data: {
      ...{ id: requestId, organizationId: service.organization.id, environment: 'test', apiKeyId: 'key_1' },
      ...{
        operation: 'GET /v1/refunds',
        path: '',
        status: 400,
        code: '',
        message: '',
        createdAt: new Date(),
      },
    },
  });
  const { id: keyId } = await service.newKey({ agentLimits: { currency: 'usd' } });
  return {
    '/settings/accounts/:accountId': `/settings/accounts/${accountId}`,
    '/settings/accounts/:accountId/credentials': `/settings/accounts/${accountId}/credentials`,
    '/settings/accounts/:accountId/metadata': `/settings/accounts/${accountId}/metadata`,
    '/settings/api-keys/:keyId': `/settings/api-keys/${keyId}`,
    '/failed-requests/:requestId': `/failed-requests/${requestId}`,
    '/reconciliation/:runId': `/reconciliation/${runId}`,
    '/policies/edit': '/policies/edit?name=Default+30-day+policy',
    '/webhooks/:endpointId': `/webhooks/${endpointId}`,
    '/webhooks/:endpointId/deliveries/:deliveryId': `/webhooks/${endpointId}/deliveries/${deliveryId}`,
    '/batches/:id': `/batches/${batchId}`,
    '/batches/:id/results': `/batches/${batchId}/results`,
    '/refunds/:id': `/refunds/${refundId}`,
  };
}

test('admits the required role to every page, and answers its empty forms', async () => {
  const paths = await pagesOfSomething();
  // Leaving would end the membership that the others need.
  for (const row of ofOrganization().filter(({ url }) => !url.endsWith('/leave'))) {
    const path = row.method === 'GET' ? paths[row.url.replace(base, '')] : undefined;
    const url = path === undefined ? row.url : `${base}${path}`;
    const page = await send(as(row.access as Role), { ...row, url });
    const status = answers.find(([pattern]) => pattern.test(row.route))?.[1];
    expect(page.status, row.route).toBe(status);
    expect(String(page.headers.location), row.route).not.toContain('/sign-in');
    expect(page.text, row.route).not.toContain('This requires the');
  }
});
