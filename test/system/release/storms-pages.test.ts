import fc from 'fast-check';
import { beforeAll, expect, test, vi } from 'vitest';
import { setPolicies } from '../../../shared/policies/stored-policies.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import type { DashboardVisitor } from '../../support/dashboard/dashboard-visitor.ts';
import { noteRegisteredRoutes, type RegisteredRoute } from '../../support/http/registered-routes.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { checkMessage, checkUndeclared } from '../../support/storm/answers.ts';
import { requestsToMcp, requestsToWebhooks } from '../../support/storm/message-requests.ts';
import {
  type PageForm,
  type PageSources,
  readForms,
  requestsToPage,
} from '../../support/storm/page-requests.ts';
import type { StormRequest, StormSources } from '../../support/storm/storm-requests.ts';
import { useStorm } from '../../support/storm/use-storm.ts';

vi.setConfig({ testTimeout: 7_200_000 });

// What lies outside of the OpenAPI document: pages, forms, the queue board, the tools for agents, webhooks of processors.

const registered = noteRegisteredRoutes();
const storm = useStorm();
const ids: Record<string, readonly string[]> = {};
let forms: PageForm[];
let viewer: DashboardVisitor;
let owner: DashboardVisitor;

beforeAll(async () => {
  const { service } = storm.exposed;
  const { id: organizationId } = service.organization;
  const { db } = service.deps;
  await service.app.inject('/');
  const policies = [{ name: 'Ask', priority: 1, approvalAbove: { api: 50 } }];
  await setPolicies(service.deps, { organizationId, file: { policies }, actor: 'test' });
  for (let count = 0; count < 10; count += 1) {
    const transactionId = await newPayment(service);
    await service.call('POST', '/v1/refunds', { body: { transactionId, amount: 100, reason: 'other' } });
  }
  viewer = (await signInMember(service, 'viewer')).visitor;
  owner = await newOwner();
  const idsOf = async (rows: Promise<{ id: string }[]>) => (await rows).map(({ id }) => id);
  const refunds = await idsOf(db.refund.findMany({ select: { id: true } }));
  Object.assign(ids, {
    organizationId: [
      organizationId,
      organizationId,
      organizationId,
      ...(await idsOf(db.organization.findMany())),
    ],
    environment: ['test', 'test', 'live'],
    id: [...refunds, ...(await idsOf(db.session.findMany()))],
    transactionId: (await db.payment.findMany()).map(({ transactionId }) => transactionId),
    keyId: await idsOf(db.apiKey.findMany()),
    userId: await idsOf(db.user.findMany()),
    accountId: await idsOf(db.processorAccount.findMany()),
    processor: ['stripe', 'braintree'],
    queueName: ['refunds-stripe', 'deliver-webhook'],
    jobId: refunds,
    queueStatus: ['failed', 'delayed', 'completed', 'wait'],
    file: ['index.html', 'favicon.ico', 'css/main.css', '../../package.json'],
  });
  const pages = registered.filter(({ method, url }) => method === 'GET' && url.startsWith('/dashboard'));
  forms = await readForms(
    owner,
    pages.map(({ url }) => url.replace(/:(\w+)/g, (_, name) => ids[name]?.[0] ?? 'x')),
  );
});

const known = () =>
  Object.fromEntries(Object.entries(ids).map(([name, values]) => [name, fc.constantFrom(...values)]));
const sources = (): StormSources => ({ ...storm.sources, known: known() });

/** The routes, without those that only answer 405 and those of the OpenAPI document. */
function routesUnder(prefixes: readonly string[]): RegisteredRoute[] {
  const isDescribed = ({ url }: RegisteredRoute) => url.startsWith('/v1/');
  return registered.filter(
    (route) =>
      !route.isRefusal &&
      route.method !== 'HEAD' &&
      !isDescribed(route) &&
      prefixes.some((prefix) => route.url.startsWith(prefix)),
  );
}

async function strike(name: string, requests: fc.Arbitrary<StormRequest>, check = checkUndeclared) {
  return await storm.strikeAt({ name, requests, check });
}

/** An owner of every organization, because the queue board shows the jobs of all of them. */
async function newOwner(): Promise<DashboardVisitor> {
  const { service } = storm.exposed;
  const { userId, visitor } = await signInMember(service, 'owner');
  const others = await service.deps.db.organization.findMany({
    where: { id: { not: service.organization.id } },
  });
  const data = others.map(({ id: organizationId }) => ({
    organizationId,
    userId,
    role: 'owner' as const,
    createdAt: new Date(),
  }));
  await service.deps.db.membership.createMany({ data });
  return visitor;
}

/** Signs in again when a request has ended the session or taken the role of its user. */
async function pageSources(): Promise<PageSources> {
  const { service } = storm.exposed;
  const members = `/dashboard/${service.organization.id}/test/settings/members`;
  let page = await owner.get(members);
  if (page.status !== 200) {
    owner = await newOwner();
    page = await owner.get(members);
  }
  const csrfToken = /name="_csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
  const session = { cookie: owner.cookie, csrfToken };
  return { storm: sources(), forms, session, otherCookies: [viewer.cookie] };
}

const isPage = ({ url }: RegisteredRoute) => url.startsWith('/dashboard');

test('any request to a public route is answered', async () => {
  const routes = routesUnder(['/']).filter((route) => !isPage(route) && !/^\/(mcp|webhooks)/.test(route.url));
  expect(routes.length).toBeGreaterThan(5);
  for (const route of routes) {
    await strike(`${route.method} ${route.url}`, requestsToPage(route, await pageSources()));
  }
});

test('any message to the tools for agents is answered, and creates nothing unless it is carried out', async () => {
  const { service } = storm.exposed;
  const answer = await service.app.inject({
    method: 'POST',
    url: '/mcp',
    headers: {
      authorization: `Bearer ${storm.sources.key}`,
      accept: 'application/json, text/event-stream',
    },
    payload: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  });
  const { tools } = JSON.parse(/^data: (.*)$/m.exec(answer.body)?.[1] ?? '').result;
  const { outcomes, enough } = await strike('POST /mcp', requestsToMcp(tools, sources()), checkMessage);
  expect(outcomes['200']).toBeGreaterThan(enough);
  await expectInvariants(service);
});

test.each(['stripe', 'braintree'] as const)(
  'any webhook of %s is answered, and recorded once',
  async (processor) => {
    const { service } = storm.exposed;
    const [{ id = '' } = {}] = await service.deps.db.processorAccount.findMany({
      where: { organizationId: service.organization.id, environment: 'test', processor },
    });
    const own = { ...sources(), known: { ...known(), accountId: fc.constant(id) } };
    const name = `POST /webhooks/${processor}/:accountId`;
    const { outcomes, enough } = await strike(name, requestsToWebhooks(processor, own));
    for (const outcome of ['200', '400', '404']) expect(outcomes[outcome], outcome).toBeGreaterThan(enough);
  },
);

test('any challenge of Braintree is answered', async () => {
  const [route] = registered.filter(({ method, url }) => method === 'GET' && url.startsWith('/webhooks/'));
  if (route === undefined) throw new Error('There is no route for challenges.');
  await strike(`GET ${route.url}`, requestsToPage(route, await pageSources()));
});

// Last, because forms revoke keys and replace the credentials of processors.
test('any request to a page of the dashboard is answered, and creates nothing unless it is carried out', async () => {
  const routes = routesUnder(['/dashboard']);
  expect(routes.length).toBeGreaterThan(80);
  for (const route of routes) {
    const requests = requestsToPage(route, await pageSources());
    await strike(`${route.method} ${route.url}`, requests);
  }
  await expectInvariants(storm.exposed.service);
});

test('every route is in the OpenAPI document or among those above', () => {
  const described = new Set(
    storm.served.operations.map(
      ({ method, path }) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`,
    ),
  );
  const missing = registered.filter(
    ({ method, url, isRefusal }) =>
      url.startsWith('/v1/') && !isRefusal && method !== 'HEAD' && !described.has(`${method} ${url}`),
  );
  expect(missing).toEqual([]);
});
