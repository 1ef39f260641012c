import { beforeAll, describe, expect, test } from 'vitest';
import { tools } from '#api/mcp/tools.ts';
import { operations } from '#api/operations/operations.ts';
import { DashboardVisitor } from '../../support/dashboard/dashboard-visitor.ts';
import { type Canary, findCanaries } from '../../support/http/canaries.ts';
import { noteRegisteredRoutes } from '../../support/http/registered-routes.ts';
import { plantOrganization, plantTenant, type Tenant, type TenantIds } from '../../support/http/tenants.ts';
import { newPerson } from '../../support/people.ts';
import { useService } from '../../support/use-service.ts';

// Everything that can be read, as a key and as a member of one organization and environment. Three others have the same things,
// each with texts that are nowhere else. What is asked for is named by ids alone, because pages repeat what they are asked.

const registered = noteRegisteredRoutes();
const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0 } });
let own: Tenant;
let others: Tenant[];
/** What the environments of the own and of the other organization share. */
let shared: Canary[];
let foreignShared: Canary[];
let visitor: DashboardVisitor;

beforeAll(async () => {
  const mine = service.organization;
  const foreign = await service.addOrganization('Another organization');
  shared = await plantOrganization(service, mine);
  foreignShared = await plantOrganization(service, foreign);
  own = await plantTenant(service, mine, 'test');
  others = [
    await plantTenant(service, mine, 'live'),
    await plantTenant(service, foreign, 'test'),
    await plantTenant(service, foreign, 'live'),
  ];
  const { email, password } = await newPerson(service.deps, mine.id, 'owner');
  visitor = new DashboardVisitor(service);
  expect((await visitor.signIn(email, password)).status).toBe(303);
});

/** A route with ids in place of its parameters. */
function fill(route: string, ids: TenantIds): string {
  const named: Record<string, string> = {
    ...{ organizationId: own.organizationId, environment: own.environment, processor: 'stripe' },
    ...ids,
    id: route.includes('batches')
      ? ids.batchId
      : route.includes('payments')
        ? ids.transactionId
        : ids.refundId,
  };
  if (route.startsWith('/v1/webhook-endpoints')) named.id = ids.endpointId;
  if (route.startsWith('/v1/agent-keys')) named.id = ids.keyId;
  return route.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(named[name] ?? `no-${name}`));
}

const isSearched = /\/(refunds|search|export|audit-log)$/;

/** What a search or a filter may be given. */
const queriesFor = ({ refundId, transactionId, externalRefundId }: TenantIds): string[] => [
  ...[refundId, transactionId, externalRefundId].map((id) => `?q=${id}`),
  `?transactionId=${transactionId}`,
];

/** The answers to all reading requests, by what was asked. */
async function everythingRead(): Promise<[request: string, status: number, text: string][]> {
  const tenants = [own, ...others];
  const read: [string, number, string][] = [];
  const ask = async (path: string, send: (path: string) => Promise<{ status: number; text: string }>) => {
    const { status, text } = await send(path);
    read.push([path, status, text]);
  };
  const pages = registered.filter(
    ({ method, url, isRefusal }) =>
      method === 'GET' && !isRefusal && /^\/dashboard(?!\/(queues|assets|sign-in|set-up))/.test(url),
  );
  for (const { url } of pages) {
    // Whatever a page names another one by, its own is asked for with the others' ids, too.
    const paths = new Set(tenants.map(({ ids }) => fill(url, ids)));
    for (const path of paths) await ask(path, (asked) => visitor.get(asked));
    if (!isSearched.test(url)) continue;
    for (const { ids } of others)
      for (const query of queriesFor(ids))
        await ask(`${fill(url, own.ids)}${query}`, (asked) => visitor.get(asked));
  }
  for (const { path } of operations.filter(({ method }) => method === 'GET')) {
    const paths = new Set(tenants.map(({ ids }) => fill(path, ids)));
    for (const filled of paths) await ask(filled, (asked) => call('GET', asked));
    if (!isSearched.test(path)) continue;
    for (const { ids } of others)
      for (const query of queriesFor(ids)) await ask(`${path}${query}`, (asked) => call('GET', asked));
  }
  for (const { name } of tools.filter(({ annotations }) => annotations.readOnlyHint)) {
    for (const { ids } of tenants) {
      for (const args of [{}, { refundId: ids.refundId }, { transactionId: ids.transactionId }])
        await ask(`${name} ${JSON.stringify(args)}`, () => callTool(name, args));
    }
  }
  return read;
}

async function call(method: 'GET' | 'POST', url: string, payload?: object) {
  const headers = {
    authorization: `Bearer ${own.key}`,
    ...(payload === undefined ? {} : { accept: 'application/json, text/event-stream' }),
  };
  const { statusCode, body } = await service.app.inject({
    method,
    url,
    headers,
    ...(payload && { payload }),
  });
  return { status: statusCode, text: body };
}

const callTool = (name: string, args: object) =>
  call('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });

describe('whoever reads everything', () => {
  let read: Awaited<ReturnType<typeof everythingRead>>;
  beforeAll(async () => {
    read = await everythingRead();
  });

  test('finds nothing of another organization or environment in any list, search, export, page or tool', () => {
    expect(read.filter(([, status]) => status >= 500)).toEqual([]);
    const ofOthers = [...others.flatMap(({ canaries }) => canaries), ...foreignShared];
    // An organization has one audit log.
    const isOfAuditLog = ({ what }: Canary) => what.endsWith(`${own.organizationId} live`);
    const found = read.flatMap(([request, , text]) => {
      const forbidden = request.includes('/audit-log')
        ? ofOthers.filter((each) => !isOfAuditLog(each))
        : ofOthers;
      return findCanaries(forbidden, request, text);
    });
    expect(found.map(({ canary, place }) => `${canary}: ${place}`)).toEqual([]);
  });

  test('cancels nothing of theirs with the tools for agents', async () => {
    for (const { ids } of others) {
      const { text } = await callTool('cancel_refund', { refundId: ids.refundId });
      expect(text).toContain('Refund not found.');
    }
    const refundIds = others.map(({ ids }) => ids.refundId);
    const refunds = await service.deps.db.refund.findMany({ where: { id: { in: refundIds } } });
    expect(refunds.map(({ status }) => status)).toEqual(['processing', 'processing', 'processing']);
  });

  test('finds everything of its own', () => {
    const all = read.map(([, , text]) => text).join('\n');
    expect([...own.canaries, ...shared].filter(({ text }) => !all.includes(text))).toEqual([]);
  });
});
