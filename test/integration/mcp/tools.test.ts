import { readFileSync } from 'node:fs';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { connectOverHttp } from '../../support/agents/agent.ts';
import { expectFirstRefund } from '../../support/agents/first-refund.ts';
import { useAgents } from '../../support/agents/use-agents.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { useService } from '../../support/use-service.ts';

const service = useService();
const agents = useAgents(service);
beforeEach(() => service.sandbox.settings({ autoSettleMs: 0 }));

test('an agent over HTTP, by the protocol of 2026 finds five tools, and creates and gets a refund, which the API shows as requested by mcp', async () => {
  const options = { versionNegotiation: { mode: 'auto' } } as const;
  const agent = await connectOverHttp(agents.origin(), service.organization.keys.test.plaintext, options);
  onTestFinished(() => agent.close());
  await expectFirstRefund(service, agent);
});

test('lists refunds by filter, as the API does', async () => {
  const agent = await agents.connect();
  const transactionId = await newPayment(service);
  for (const amount of [100, 200, 300]) {
    const args = { transactionId, amount, reason: 'other', metadata: { seat: amount, paid: true } };
    await agent.call('create_refund', args);
  }
  const since = '2026-01-01T00:00:00Z';
  const queries: [args: Record<string, unknown>, query: string, amounts: number[]][] = [
    [{ limit: 3, offset: 1 }, 'limit=3&offset=1', [200, 100]],
    [
      { amountMin: 150, amountMax: 250, createdAfter: since, initiatedBy: 'mcp' },
      `amountMin=150&amountMax=250&createdAfter=${since}&initiatedBy=mcp`,
      [200],
    ],
    [{ metadata: { seat: 300, paid: true } }, 'metadata[seat]=300&metadata[paid]=true', [300]],
  ];
  for (const [args, query, amounts] of queries) {
    const { content } = await agent.call('list_refunds', { transactionId, ...args });
    expect(content.refunds.map(({ amount }: { amount: number }) => amount)).toEqual(amounts);
    const { body } = await service.call('GET', `/v1/refunds?transactionId=${transactionId}&${query}`);
    expect(content).toEqual({ refunds: body.data, hasMore: false });
  }
});

test('checks the policy as the API does', async () => {
  const agent = await agents.connect();
  const question = {
    ...{ transactionId: await newPayment(service), amount: 20_000, reason: 'other' },
    ...{ currency: 'USD', processor: 'stripe', metadata: { ticket: 'T-1' } },
  };
  const { content } = await agent.call('check_policy', question);
  const { body } = await service.call('POST', '/v1/policies/check', { body: question });
  expect(content).toEqual({ policy: body.data });
  expect(content.policy.eligible).toBe(false);
});

test('creates refunds with explicit processors and keys that the API replays', async () => {
  const agent = await agents.connect();
  const transactionId = await newPayment(service);
  const body = { transactionId, amount: 900, reason: 'other', processor: 'stripe' };
  const { content } = await agent.call('create_refund', { ...body, idempotencyKey: 'order-17' });
  expect(content).toMatchObject({ idempotencyKey: 'order-17', replayed: false });
  const { body: answer, headers } = await service.call('POST', '/v1/refunds', {
    body,
    headers: { 'idempotency-key': 'order-17' },
  });
  expect(headers['idempotent-replayed']).toBe('true');
  expect(answer.data.id).toBe(content.refund.id);
});

test('docs/agents.md lists the tools with their arguments', async () => {
  const page = readFileSync('docs/agents.md', 'utf8');
  const { client } = await agents.connect();
  const { tools } = await client.listTools();
  const documented = [...page.matchAll(/^\| `(\w+)` \| (.*?) \| /gm)].map(([, name, args = '']) => [
    name,
    name === 'list_refunds'
      ? []
      : [...args.matchAll(/`(\w+)\??`/g)].map(([, argument]) => argument).toSorted(),
  ]);
  expect(documented).toEqual(
    tools.map(({ name, inputSchema: { properties = {} } }) => [
      name,
      name === 'list_refunds' ? [] : Object.keys(properties).toSorted(),
    ]),
  );
});
