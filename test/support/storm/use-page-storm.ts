import fc from 'fast-check';
import { beforeAll, expect } from 'vitest';
import { setPolicies } from '#shared/policies/stored-policies.ts';
import { type DashboardMember, signInMember } from '../dashboard/dashboard-member.ts';
import type { DashboardVisitor } from '../dashboard/dashboard-visitor.ts';
import { noteRegisteredRoutes, type RegisteredRoute } from '../http/registered-routes.ts';
import { newPayment } from '../refunds/payments.ts';
import { checkUndeclared } from './answers.ts';
import { type PageForm, type PageSources, readForms, requestsToPage } from './page-requests.ts';
import type { StormReport, StormTarget } from './storm.ts';
import type { StormSources } from './storm-requests.ts';
import { type Storm, useStorm } from './use-storm.ts';

/** A storm at what lies outside of the OpenAPI document. */
export interface PageStorm {
  storm: Storm;
  /** All routes of the service; those that only answer 405 and those for HEAD are left out. */
  routes(): RegisteredRoute[];
  /** For requests that are no visits of pages. */
  sources(): StormSources;
  strike(name: string, requests: StormTarget['requests'], check?: StormTarget['check']): Promise<StormReport>;
  /** Visits each of these routes, and sends forms to them. */
  strikePages(routes: readonly RegisteredRoute[]): Promise<void>;
}

/** Gives a test file the service behind a socket, with members who are signed in and forms to send. */
export function usePageStorm(): PageStorm {
  const registered = noteRegisteredRoutes();
  const storm = useStorm();
  const ids: Record<string, readonly string[]> = {};
  let forms: PageForm[];
  let viewer: DashboardVisitor;
  let owner: DashboardMember;

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
    owner = await signInMember(service, 'owner');
    await makeOwner();
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
      transactionId: (await db.paymentName.findMany()).map(({ name }) => name),
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
      owner.visitor,
      pages.map(({ url }) => url.replace(/:(\w+)/g, (_, name) => ids[name]?.[0] ?? 'x')),
    );
  });

  const known = () =>
    Object.fromEntries(Object.entries(ids).map(([name, values]) => [name, fc.constantFrom(...values)]));
  const sources = (): StormSources => ({ ...storm.sources, known: known() });

  const strike: PageStorm['strike'] = async (name, requests, check = checkUndeclared) =>
    await storm.strikeAt({ name, requests, check });

  /** Makes the owner one of every organization, because the queue board shows the jobs of all of them. */
  async function makeOwner(): Promise<void> {
    const { db } = storm.exposed.service.deps;
    const { userId } = owner;
    for (const { id: organizationId } of await db.organization.findMany()) {
      await db.membership.upsert({
        where: { organizationId_userId: { organizationId, userId } },
        create: { organizationId, userId, role: 'owner', createdAt: new Date() },
        update: { role: 'owner' },
      });
    }
  }

  /** Restores what requests have taken from the owner: roles, the session, and the right to sign in. */
  async function pageSources(): Promise<PageSources> {
    const { email, password, visitor } = owner;
    const members = `/dashboard/${storm.exposed.service.organization.id}/test/settings/members`;
    await makeOwner();
    let page = await visitor.get(members);
    if (page.status !== 200) {
      await storm.exposed.service.deps.db.lockout.deleteMany();
      await visitor.signIn(email, password);
      page = await visitor.get(members);
    }
    expect(page.status).toBe(200);
    const csrfToken = /name="_csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    const session = { cookie: visitor.cookie, csrfToken };
    return { storm: sources(), forms, session, otherCookies: [viewer.cookie] };
  }

  return {
    storm,
    sources,
    strike,
    routes: () => {
      const byName = new Map(registered.map((route) => [`${route.method} ${route.url}`, route]));
      return [...byName.values()].filter(({ isRefusal, method }) => !isRefusal && method !== 'HEAD');
    },
    async strikePages(routes) {
      for (const route of routes) {
        const requests = async () => requestsToPage(route, await pageSources());
        const visits = strike(`${route.method} ${route.url}`, requests);
        // A broken promise of one route does not keep the others from being tried.
        await expect.soft(visits).resolves.toBeDefined();
      }
    },
  };
}
