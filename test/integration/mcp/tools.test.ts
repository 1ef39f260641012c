import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createApiKey } from '#shared/organizations/api-keys.ts';
import { approveRefund } from '#shared/refunds/decisions/approve.ts';
import { type Agent, connectOverHttp, connectOverStdio } from '../../support/agents/agent.ts';
import { useAgents } from '../../support/agents/use-agents.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { rowOf } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

const service = useService();
const agents = useAgents(service);
beforeEach(() => service.sandbox.settings({ autoSettleMs: 0 }));

const read = async (id: string) => (await service.call('GET', `/v1/refunds/${id}`)).body.data;

describe.each([
  ['over HTTP', connectOverHttp, {}],
  ['over HTTP, by the protocol of 2026', connectOverHttp, { versionNegotiation: { mode: 'auto' } }],
  ['over stdio', connectOverStdio, {}],
  ['over stdio, by the protocol of 2026', connectOverStdio, { versionNegotiation: { mode: 'auto' } }],
] as const)('an agent %s', (_name, connect, options) => {
  let agent: Agent;
  beforeAll(async () => {
    agent = await connect(agents.origin(), service.organization.keys.test.plaintext, options);
    // With the list, the client checks results against their schemas.
    await agent.client.listTools();
  });
  afterAll(() => agent?.close());

  test('finds five tools with schemas and hints', async () => {
    const { tools } = await agent.client.listTools();
    expect(
      tools.map(({ name, annotations, inputSchema, outputSchema }) => [
        name,
        annotations?.readOnlyHint,
        annotations?.destructiveHint,
        inputSchema.additionalProperties,
        outputSchema?.type,
      ]),
    ).toEqual([
      ['create_refund', false, true, false, 'object'],
      ['get_refund', true, undefined, false, 'object'],
      ['cancel_refund', false, true, false, 'object'],
      ['list_refunds', true, undefined, false, 'object'],
      ['check_policy', true, undefined, false, 'object'],
    ]);
  });

  test('creates and gets a refund, which the API shows as requested by mcp', async () => {
    const transactionId = await newPayment(service);
    const metadata = { ticket: 'T-1', tags: ['a', { b: null }] };
    const args = { transactionId, amount: 1_050, reason: 'product_defective', currency: 'USD', metadata };
    const { isError, content } = await agent.call('create_refund', args);
    expect(isError, JSON.stringify(content)).toBe(false);
    const { refund } = content;
    expect(refund).toMatchObject({ ...args, currency: 'usd', initiatedBy: 'mcp', status: 'processing' });
    expect(content).toEqual({ refund, idempotencyKey: expect.stringMatching(/^mcp_/), replayed: false });
    await waitFor('the refund to complete', async () => (await read(refund.id)).status === 'completed');
    expect((await agent.call('get_refund', { refundId: refund.id })).content).toEqual({
      refund: await read(refund.id),
    });
    const { actor } = await service.deps.db.refundEvent.findFirstOrThrow({
      where: { refundId: refund.id, seq: 1 },
    });
    expect(actor).toBe(`key:${service.organization.keys.test.id}`);
  });

  test('cancels a refund that the processor can revoke', async () => {
    await service.sandbox.settings({ autoSettleMs: null });
    const transactionId = await newPayment(service, { paymentMethod: 'customer_balance' });
    const created = await agent.call('create_refund', { transactionId, amount: 700, reason: 'other' });
    const refundId = created.content.refund.id;
    const { isError, content } = await agent.call('cancel_refund', { refundId });
    expect(isError, JSON.stringify(content)).toBe(false);
    expect(content).toEqual({ refund: await read(refundId) });
    expect(content.refund.status).toBe('cancelled');
    const again = await agent.call('cancel_refund', { refundId });
    expect(again).toEqual({
      isError: true,
      content: {
        code: 'refund_not_cancellable',
        message: 'The refund is cancelled and can no longer be cancelled.',
      },
    });
  });

  test('lists refunds by filter, as the API does', async () => {
    const transactionId = await newPayment(service);
    for (const amount of [100, 200, 300]) {
      const args = { transactionId, amount, reason: 'other', metadata: { seat: amount, paid: true } };
      await agent.call('create_refund', args);
    }
    const since = '2026-01-01T00:00:00Z';
    const queries: [args: Record<string, unknown>, query: string, amounts: number[]][] = [
      [{ limit: 2, offset: 1 }, 'limit=2&offset=1', [200, 100]],
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
    const { content: newest } = await agent.call('list_refunds', { transactionId, limit: 1 });
    const { content } = await agent.call('list_refunds', { transactionId, after: newest.refunds[0].id });
    expect(content.refunds.map(({ amount }: { amount: number }) => amount)).toEqual([200, 100]);
  });

  test('checks the policy as the API does', async () => {
    const question = { transactionId: await newPayment(service), amount: 20_000 };
    const { content } = await agent.call('check_policy', question);
    const { body } = await service.call('POST', '/v1/policies/check', { body: question });
    expect(content).toEqual({ policy: body.data });
    expect(content.policy.eligible).toBe(false);
  });

  test('gets a refund that awaits approval, which completes once a person approves it', async () => {
    const { id: organizationId } = await service.addOrganization('With approval');
    const { plaintext } = await createApiKey(service.deps, {
      organizationId,
      environment: 'test',
      actor: 'test',
      agentLimits: { currency: 'usd', approvalAbove: 2_000n },
    });
    const other = await connect(agents.origin(), plaintext, options);
    const transactionId = await newPayment(service);
    const args = { transactionId, amount: 2_001, reason: 'wrong_product' };
    const { refund } = (await other.call('create_refund', args)).content;
    expect(refund.status).toBe('pending');
    expect((await other.call('get_refund', { refundId: refund.id })).content.refund.status).toBe('pending');
    // Repeating the call gives the waiting refund, not another one.
    const again = (await other.call('create_refund', args)).content;
    expect(again).toMatchObject({ replayed: true, refund: { id: refund.id, status: 'pending' } });
    const refundRow = await rowOf(service, refund.id);
    expect((await approveRefund(service.deps, refundRow, 'user:usr_a_person')).kind).toBe('done');
    const status = async () =>
      (await other.call('get_refund', { refundId: refund.id })).content.refund.status;
    await waitFor('the refund to complete', async () => (await status()) === 'completed');
    expect(await service.sandbox.refunds({ transactionId })).toHaveLength(1);
    await other.close();
  });
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

describe('docs/agents.md', () => {
  const page = readFileSync('docs/agents.md', 'utf8');

  test('lists the tools with their arguments', async () => {
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

  test('has configuration that is valid JSON and starts what the package has', () => {
    const blocks = [...page.matchAll(/```json\n(.*?)```/gs)].map(([, json = '']) => JSON.parse(json));
    const servers = blocks.flatMap((block) => Object.values(block.mcpServers ?? block.servers ?? {}));
    expect(servers).toHaveLength(4);
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(scripts).toHaveProperty('mcp');
  });
});
