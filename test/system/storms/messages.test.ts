import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { checkMessage } from '../../support/storm/answers.ts';
import { requestsToMcp, requestsToWebhooks } from '../../support/storm/message-requests.ts';
import { usePageStorm } from '../../support/storm/use-page-storm.ts';

vi.setConfig({ testTimeout: 7_200_000 });

const { storm, routes, sources, strike, strikePages } = usePageStorm();

test('any request to a public route is answered', async () => {
  const open = routes().filter(({ url }) => !/^\/(v1|dashboard|mcp|webhooks)(\/|$)/.test(url));
  expect(open.length).toBeGreaterThan(5);
  await strikePages(open);
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
  const { outcomes, enough } = await strike('POST /mcp', () => requestsToMcp(tools, sources()), checkMessage);
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
    const { known, ...rest } = sources();
    const own = { ...rest, known: { ...known, accountId: fc.constant(id) } };
    const name = `POST /webhooks/${processor}/:accountId`;
    const { outcomes, enough } = await strike(name, () => requestsToWebhooks(processor, own));
    for (const outcome of ['200', '400', '404']) expect(outcomes[outcome], outcome).toBeGreaterThan(enough);
  },
);

test('any challenge of Braintree is answered', async () => {
  const challenges = routes().filter(({ method, url }) => method === 'GET' && url.startsWith('/webhooks/'));
  expect(challenges).toHaveLength(1);
  await strikePages(challenges);
});

test('every route under /v1 is in the OpenAPI document, whose operations have a storm of their own', () => {
  const described = storm.served.operations.map(
    ({ method, path }) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`,
  );
  const registered = routes().filter(({ url }) => url.startsWith('/v1/'));
  expect(described).toEqual(expect.arrayContaining(registered.map(({ method, url }) => `${method} ${url}`)));
});
