import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { setPolicies } from '#shared/policies/stored-policies.ts';
import { connectOverHttp } from '../../support/agents/agent.ts';
import { type DashboardMember, signInMember } from '../../support/dashboard/dashboard-member.ts';
import { type SentField, sentForm } from '../../support/dashboard/sent-form.ts';
import { useExposedService } from '../../support/http/exposed-service.ts';
import { noteRegisteredRoutes, type RegisteredRoute } from '../../support/http/registered-routes.ts';
import {
  braintreeForm,
  braintreeNotification,
  signBraintree,
  signStripe,
  stripeEvent,
} from '../../support/processors/signed-webhooks.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { hostileText, hostileValue } from '../../support/storm/hostile-values.ts';
import {
  type Content,
  changed,
  damaged,
  headerText,
  jsonLike,
  mostly,
  nearly,
  requestsTo,
} from '../../support/storm/requests.ts';
import { arbitraryOf, type KnownValues } from '../../support/storm/schema-arbitrary.ts';
import { checkMessage, checkUndeclared, enough, storm, stormSettings } from '../../support/storm/storm.ts';

const registered = noteRegisteredRoutes();
const exposed = useExposedService(stormSettings);
let owner: DashboardMember;
let viewer: DashboardMember;
let known: KnownValues;
let accountIds: Record<string, string>;
/** The forms of all pages, by the path that they are sent to. */
const forms: { action: string; fields: SentField[] }[] = [];

/** All routes of the service; those that only answer 405 and those for HEAD are left out. */
const routes = () => {
  const byName = new Map(registered.map((route) => [`${route.method} ${route.url}`, route]));
  return [...byName.values()].filter(({ isRefusal, method }) => !isRefusal && method !== 'HEAD');
};

beforeAll(async () => {
  const { service } = exposed;
  const { db } = service.deps;
  const organizationId = service.organization.id;
  await service.app.inject('/');
  const policies = [{ name: 'Ask', priority: 1, approvalAbove: { api: 50 } }];
  await setPolicies(service.deps, { organizationId, file: { policies }, actor: 'test' });
  for (let count = 0; count < 10; count += 1) {
    const transactionId = await newPayment(service);
    await service.call('POST', '/v1/refunds', { body: { transactionId, amount: 100, reason: 'other' } });
  }
  await service.addOrganization('Another');
  [viewer, owner] = [await signInMember(service, 'viewer'), await signInMember(service, 'owner')];
  await makeOwner();
  const accounts = await db.processorAccount.findMany({ where: { organizationId, environment: 'test' } });
  accountIds = Object.fromEntries(accounts.map(({ processor, id }) => [processor, id]));
  const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id);
  const refundIds = idsOf(await db.refund.findMany());
  const ids: Record<string, string[]> = {
    organizationId: [organizationId, organizationId, ...idsOf(await db.organization.findMany())],
    environment: ['test', 'test', 'live'],
    id: [...refundIds, ...idsOf(await db.session.findMany())],
    transactionId: (await db.paymentName.findMany()).map(({ name }) => name),
    keyId: idsOf(await db.apiKey.findMany()),
    userId: idsOf(await db.user.findMany()),
    accountId: Object.values(accountIds),
    processor: ['stripe', 'braintree'],
    queueName: ['refunds-stripe', 'deliver-webhook'],
    jobId: refundIds,
    queueStatus: ['failed', 'delayed', 'completed', 'wait'],
  };
  known = Object.fromEntries(Object.entries(ids).map(([name, values]) => [name, fc.constantFrom(...values)]));
  for (const { method, url } of routes()) {
    if (method !== 'GET' || !url.startsWith('/dashboard')) continue;
    const { text } = await owner.visitor.get(url.replace(/:(\w+)/g, (_, name) => ids[name]?.[0] ?? 'x'));
    for (const form of text.split('<form').slice(1)) {
      const action = /^[^>]*\s(?:action|hx-post)="([^"]*)"/.exec(form)?.[1] ?? '';
      forms.push({ action, fields: sentForm(`<form${form}`, /\S/) });
    }
  }
});

/** Makes the owner one of every organization, because the queue board shows the jobs of all of them. */
async function makeOwner(): Promise<void> {
  const { db } = exposed.service.deps;
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
async function readCsrfToken(): Promise<string> {
  const { email, password, visitor } = owner;
  const members = `/dashboard/${exposed.service.organization.id}/test/settings/members`;
  await makeOwner();
  let page = await visitor.get(members);
  if (page.status !== 200) {
    await exposed.service.deps.db.lockout.deleteMany();
    await visitor.signIn(email, password);
    page = await visitor.get(members);
  }
  expect(page.status).toBe(200);
  return /name="_csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
}

const names = () => forms.flatMap(({ fields }) => fields.map(([name]) => name));
const fieldValue = () =>
  mostly(fc.constantFrom(...forms.flatMap(({ fields }) => fields.map(([, value]) => value))), hostileText, 3);

/** A form that is sent to this route, or one of any fields, with some of them changed. */
function formFor({ url }: RegisteredRoute, csrfToken: string): fc.Arbitrary<Content> {
  const pattern = new RegExp(`^${url.replace(/:\w+/g, '[^/]+').replace('*', '.*')}$`);
  const own = forms.filter(({ action }) => pattern.test(action)).map(({ fields }) => fields);
  const field = fc.tuple(mostly(fc.constantFrom(...names()), hostileText, 6), fieldValue());
  const whole = own.length === 0 ? fc.array(field, { maxLength: 12 }) : fc.constantFrom(...own);
  const shorter = whole.chain((fields) => fc.subarray(fields));
  const sent = fc.oneof(whole, shorter, changed(whole, field), changed(changed(whole, field), field));
  return fc.tuple(mostly(fc.constant(csrfToken), hostileText, 12), sent).map(([csrf, fields]) => ({
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: Buffer.from(new URLSearchParams([['_csrf', csrf], ...fields]).toString()),
  }));
}

/** Requests to a page or to the route that a form is sent to: as a browser sends them, and such as none does. */
async function requestsToPage(route: RegisteredRoute) {
  const form = formFor(route, await readCsrfToken());
  const none: fc.Arbitrary<Content> = fc.constant({ headers: {}, body: null });
  const sent = fc.oneof(
    { arbitrary: form, weight: 9 },
    { arbitrary: damaged(form), weight: 2 },
    { arbitrary: jsonLike(hostileValue), weight: 2 },
  );
  const otherCookies = fc.oneof(
    fc.constantFrom('', viewer.visitor.cookie),
    headerText.map((text) => `refunds_session=${text}`),
  );
  return requestsTo({
    ...route,
    url: route.url.replace('*', ':file'),
    known: { ...known, file: fc.constantFrom('index.html', 'css/main.css', '../../package.json') },
    credentials: fc.record({
      cookie: mostly(fc.constant(owner.visitor.cookie), otherCookies, 6),
      'sec-fetch-site': mostly(fc.constant('same-origin'), fc.constantFrom('cross-site', 'none', ''), 20),
    }),
    query: Object.fromEntries(names().map((name) => [name, fieldValue()])),
    headers: {
      origin: fc.constantFrom('null', 'http://other.example', '::', ''),
      'hx-request': fc.constantFrom('true', 'false'),
      'hx-current-url': headerText,
    },
    content: /GET|HEAD/.test(route.method) ? mostly(none, sent, 10) : sent,
  });
}

test('any message to the tools for agents is answered, and creates nothing unless it is carried out', async () => {
  const { service } = exposed;
  const accept = { accept: 'application/json, text/event-stream' };
  const key = service.organization.keys.test.plaintext;
  const agent = await connectOverHttp(await service.url(), key);
  const { tools } = await agent.client.listTools();
  await agent.close();
  const call = fc.oneof(
    ...tools.map(({ name, inputSchema }) => {
      const valid = arbitraryOf(inputSchema, known);
      const given = mostly(valid, fc.oneof(nearly(valid), hostileValue), 2);
      return given.map((values) => ({ method: 'tools/call', params: { name, arguments: values } }));
    }),
  ) as fc.Arbitrary<object>;
  const method = fc.oneof(fc.constantFrom('initialize', 'ping', 'tools/list', 'tools/call'), hostileText);
  const other = fc.record({ method, params: hostileValue });
  const message = fc
    .tuple(fc.constantFrom('2.0', '2.0', '2.0', '1.0'), fc.nat(), mostly<object>(call, other, 4))
    .map(([jsonrpc, id, content]) => ({ jsonrpc, id, ...content }));
  const requests = requestsTo({
    method: 'POST',
    url: '/mcp',
    known,
    credentials: mostly(fc.constant({ authorization: `Bearer ${key}`, ...accept }), fc.constant({}), 12),
    content: jsonLike(mostly<unknown>(message, fc.array(message, { maxLength: 3 }), 10)),
  });
  const outcomes = await storm(exposed, { name: 'POST /mcp', requests: () => requests, check: checkMessage });
  expect(outcomes['200']).toBeGreaterThan(enough);
  await expectInvariants(service);
});

const strangeXml = [
  '<notification>',
  '<a>'.repeat(2_000),
  `${'<a>'.repeat(500)}${'</a>'.repeat(500)}`,
  '<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;">]><notification><kind>&d;</kind></notification>',
  '<notification><kind type="array">a</kind><timestamp type="integer">1</timestamp></notification>',
  '<notification><subject><transaction>1</transaction></subject></notification>',
];

/** Webhooks of a processor: signed and well-formed, and signed nonsense. */
function signedBy(processor: 'stripe' | 'braintree') {
  const reported = fc.record({
    externalRefundId: mostly(fc.constantFrom('re_storm', 'storm1'), hostileText, 4),
    refundId: known.id as fc.Arbitrary<string>,
    transactionId: known.transactionId as fc.Arbitrary<string>,
    processorStatus: mostly(fc.constantFrom('succeeded', 'failed', 'settled'), hostileText, 4),
  });
  if (processor === 'stripe') {
    const event = reported.map((refund) => stripeEvent(refund));
    const json = fc.oneof(event, nearly(event), hostileValue).map((value) => JSON.stringify(value) ?? '');
    return mostly(json, hostileText, 8).map((text) => signStripe(text));
  }
  const notification = reported.map((refund) => braintreeNotification(refund));
  const xml = fc.oneof(notification, notification, hostileText, fc.constantFrom(...strangeXml));
  const garbled = hostileText.map((text) => braintreeForm(text));
  return mostly(
    xml.map((text) => signBraintree(text)),
    garbled,
    6,
  );
}

test.each(['stripe', 'braintree'] as const)(
  'any webhook of %s is answered, and creates nothing unless it is accepted',
  async (processor) => {
    const signed = signedBy(processor).map(({ body, headers }) => ({ headers, body: Buffer.from(body) }));
    const requests = requestsTo({
      method: 'POST',
      url: `/webhooks/${processor}/:accountId`,
      known: { accountId: fc.constant(accountIds[processor]) },
      credentials: fc.constant({}),
      content: mostly<Content>(signed, damaged(signed), 3),
    });
    const name = `POST /webhooks/${processor}/:accountId`;
    const outcomes = await storm(exposed, { name, requests: () => requests, check: checkUndeclared });
    expect(Object.keys(outcomes)).toEqual(expect.arrayContaining(['200', '400', '404']));
  },
);

// The last one, because it also changes keys, accounts and members.
test('any request to a page, a form or a public route is answered, and creates nothing unless it is carried out', async () => {
  const pages = routes().filter(
    ({ method, url }) =>
      !/^\/(v1|mcp)(\/|$)/.test(url) && !(method === 'POST' && url.startsWith('/webhooks/')),
  );
  expect(pages.length).toBeGreaterThan(95);
  for (const route of pages) {
    const requests = () => requestsToPage(route);
    const visits = storm(exposed, { name: `${route.method} ${route.url}`, requests, check: checkUndeclared });
    // A broken promise of one route does not keep the others from being tried.
    await expect.soft(visits).resolves.toBeDefined();
  }
  await expectInvariants(exposed.service);
});
