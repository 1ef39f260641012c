import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ApiKeyScope, apiKeyScopes } from '../../../shared/organizations/api-keys.ts';
import { setPolicies } from '../../../shared/policies/stored-policies.ts';
import { connectOverHttp } from '../../support/agents/agent.ts';
import { useAgents } from '../../support/agents/use-agents.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { unknownRefundId } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0, CANCEL_WAIT_MS: 0 } });
const agents = useAgents(service);

let transactionId: string;
beforeEach(async () => {
  transactionId = await newPayment(service);
});

const countRefunds = async () => await service.deps.db.refund.count({ where: { transactionId } });
const callsOf = (refundId: string) => ({
  create_refund: { transactionId, amount: 1_000, reason: 'other' },
  get_refund: { refundId },
  cancel_refund: { refundId },
  list_refunds: {},
  check_policy: { transactionId },
});
const scopeOf = {
  create_refund: 'refunds:write',
  get_refund: 'refunds:read',
  cancel_refund: 'refunds:write',
  list_refunds: 'refunds:read',
  check_policy: 'policies:read',
} as const satisfies Record<string, ApiKeyScope>;
const tools = Object.keys(scopeOf) as (keyof typeof scopeOf)[];

/** A refund of the organization in the test environment. */
async function newRefund(): Promise<string> {
  const body = { transactionId: await newPayment(service), amount: 500, reason: 'other' };
  return (await service.call('POST', '/v1/refunds', { body })).body.data.id;
}

describe('a key', () => {
  test.each(tools)('needs for %s the scope of the API, and no other', async (tool) => {
    const refundId = await newRefund();
    const without = await agents.connect({ scopes: apiKeyScopes.filter((scope) => scope !== scopeOf[tool]) });
    expect(await without.call(tool, callsOf(refundId)[tool])).toEqual({
      isError: true,
      content: {
        code: 'insufficient_scope',
        message: `This requires the scope ${scopeOf[tool]}, which this API key does not have. Use another key.`,
      },
    });
    expect(await countRefunds()).toBe(0);
    const having = await agents.connect({ scopes: [scopeOf[tool]] });
    expect((await having.call(tool, callsOf(refundId)[tool])).isError).toBe(false);
  });

  test.each(tools)('that is stopped gets an error from %s at once', async (tool) => {
    const refundId = await newRefund();
    const agent = await agents.connect();
    await service.deps.db.apiKey.update({ where: { id: agent.keyId }, data: { stoppedAt: new Date() } });
    const refused = await agent.call(tool, callsOf(refundId)[tool]);
    expect(refused).toMatchObject({ isError: true, content: { code: 'insufficient_scope' } });
    expect(refused.content.message).toBe(
      'This API key is stopped. An admin of the organization can resume it.',
    );
    expect(await countRefunds()).toBe(0);
  });

  test.each([
    ['expires', { expiresAt: new Date(0) }],
    ['is revoked', { revokedAt: new Date(0) }],
  ])('that %s is refused with 401 at once', async (_what, data) => {
    const agent = await agents.connect();
    await service.deps.db.apiKey.update({ where: { id: agent.keyId }, data });
    await expect(agent.call('create_refund', callsOf('')['create_refund'])).rejects.toMatchObject({
      status: 401,
      message: expect.stringContaining('Send a valid API key'),
    });
    expect(await countRefunds()).toBe(0);
  });

  test('that is unknown cannot connect', async () => {
    const unknown = `svc_test_${'0'.repeat(32)}`;
    await expect(connectOverHttp(agents.origin(), unknown)).rejects.toMatchObject({ status: 401 });
  });
});

describe('a policy', () => {
  test('refuses a refund, and says what it allows', async () => {
    const { id: organizationId } = await service.addOrganization('Strict');
    const file = {
      policies: [
        { name: 'Small', priority: 1, maxAmount: { amount: 500, currency: 'usd' }, enforced: { mcp: false } },
      ],
    };
    await setPolicies(service.deps, { organizationId, file, actor: 'test' });
    const agent = await agents.connect({ organizationId });
    const { isError, content } = await agent.call('create_refund', callsOf('')['create_refund']);
    expect([isError, content.code]).toEqual([true, 'policy_denied']);
    expect(content.message).toContain('5.00 USD');
    expect(await countRefunds()).toBe(0);
  });
});

describe('refunds of others', () => {
  let foreign: string[];
  beforeAll(async () => {
    const other = await service.addOrganization('Other');
    foreign = [];
    for (const [environment, key] of [
      ['test', other.keys.test.plaintext],
      ['live', service.organization.keys.live.plaintext],
    ] as const) {
      const body = {
        transactionId: await newPayment(service, { environment }),
        amount: 500,
        reason: 'other',
      };
      foreign.push((await service.call('POST', '/v1/refunds', { body, key })).body.data.id);
    }
  });

  test.each(['get_refund', 'cancel_refund'])('get the answer for an unknown id from %s', async (tool) => {
    const agent = await agents.connect();
    const unknown = await agent.call(tool, { refundId: unknownRefundId });
    expect(unknown).toEqual({ isError: true, content: { code: 'not_found', message: 'Refund not found.' } });
    for (const refundId of [...foreign, 'ref_', '', 'nonsense', `ref_${'x'.repeat(5_000)}`]) {
      expect(await agent.call(tool, { refundId }), refundId).toEqual(unknown);
    }
  });

  test('are not listed', async () => {
    const agent = await agents.connect();
    const { content } = await agent.call('list_refunds', { limit: 100 });
    const ids = content.refunds.map(({ id }: { id: string }) => id);
    expect(ids.length).toBeGreaterThan(0);
    expect(ids.filter((id: string) => foreign.includes(id))).toEqual([]);
  });
});

const amountMessage =
  'amount: must be a positive whole number in the smallest currency unit (1050 is 10.50 USD)';

describe('invalid arguments are refused with every problem', () => {
  test.each<[string, string, Record<string, unknown>, RegExp | string]>([
    [
      'nothing',
      'create_refund',
      {},
      /^transactionId: is required; amount: is required; reason: is required$/,
    ],
    ['text for an amount', 'create_refund', { amount: '1000' }, amountMessage],
    ['a fraction', 'create_refund', { amount: 10.5 }, amountMessage],
    ['a negative amount', 'create_refund', { amount: -1 }, amountMessage],
    ['an unsafe amount', 'create_refund', { amount: 2 ** 60 }, amountMessage],
    ['null', 'create_refund', { amount: null }, amountMessage],
    ['an unknown reason', 'create_refund', { reason: 'because' }, /^reason: must be one of: product_not_rec/],
    ['a list', 'create_refund', { transactionId: ['ch_1'] }, 'transactionId: must be a string'],
    ['a long id', 'create_refund', { transactionId: 'x'.repeat(300) }, /at most 255 characters$/],
    [
      'a long key',
      'create_refund',
      { idempotencyKey: 'x'.repeat(256) },
      /^idempotencyKey: must be 1 to 255 visible/,
    ],
    ['an empty key', 'create_refund', { idempotencyKey: '' }, /^idempotencyKey: must be 1 to 255 visible/],
    [
      'much metadata',
      'create_refund',
      { metadata: { a: 'x'.repeat(20_000) } },
      /^metadata: must have at most 16384 b/,
    ],
    ['text for metadata', 'create_refund', { metadata: 'ticket' }, 'metadata: must be an object'],
    ['an unknown argument', 'create_refund', { currencyCode: 'usd' }, 'unknown field "currencyCode"'],
    ['an unknown currency', 'create_refund', { currency: 'abc' }, 'currency: must be an ISO 4217 currency'],
    ['a number for an id', 'get_refund', { refundId: 1 }, 'refundId: must be a string'],
    ['no id', 'cancel_refund', {}, 'refundId: is required'],
    ['a long list', 'list_refunds', { limit: 101 }, 'limit: must be at most 100'],
    ['an unknown filter', 'list_refunds', { customer: 'c' }, 'unknown field "customer"'],
    ['an amount of zero', 'check_policy', { amount: 0 }, amountMessage],
  ])('%s for %s', async (what, tool, args, message) => {
    const agent = await agents.connect();
    const valid = tool === 'create_refund' || tool === 'check_policy' ? callsOf('')[tool] : {};
    const given = what === 'nothing' ? {} : { ...valid, ...args };
    const { isError, content } = await agent.call(tool, given);
    expect(isError).toBe(true);
    expect(content).toEqual({
      code: 'validation_error',
      message: typeof message === 'string' ? message : expect.stringMatching(message),
    });
    expect(await countRefunds()).toBe(0);
  });

  test('arguments over 64 KiB get 413', async () => {
    const agent = await agents.connect();
    const metadata = { a: 'x'.repeat(70_000) };
    await expect(
      agent.call('create_refund', { ...callsOf('')['create_refund'], metadata }),
    ).rejects.toMatchObject({ status: 413, message: expect.stringContaining('must be at most 64 KiB') });
  });

  test('a call of an unknown tool gets the names of the tools', async () => {
    const agent = await agents.connect();
    await expect(agent.call('refund_everything')).rejects.toMatchObject({
      code: -32602,
      message:
        'Unknown tool. The tools are: create_refund, get_refund, cancel_refund, list_refunds, check_policy.',
    });
  });

  test('arguments that are no object get an error of the protocol', async () => {
    const agent = await agents.connect();
    await expect(agent.call('get_refund', 'ref_1' as never)).rejects.toMatchObject({ code: -32602 });
  });
});

describe('requests outside of the protocol', () => {
  const post = async (body: unknown, headers: Record<string, string> = {}) =>
    await fetch(`${agents.origin()}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${service.organization.keys.test.plaintext}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

  test.each(['GET', 'DELETE', 'PUT'])('%s gets 405', async (method) => {
    const answer = await fetch(`${agents.origin()}/mcp`, { method });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
  });

  test('several calls in one request are refused, because limits count requests', async () => {
    const answer = await post([ping, { ...ping, id: 2 }]);
    expect(answer.status).toBe(400);
    expect((await answer.json()).error).toEqual({
      code: 'validation_error',
      message: 'body: must be one JSON-RPC message. Send a request for each.',
    });
  });

  test.each<[string, unknown, number, Record<string, string>?]>([
    ['no JSON', '{', 400],
    ['an empty body', '', 400],
    ['another object', { hello: 1 }, 400],
    ['a number', '5', 400],
    ['a duplicate key', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', 400],
    ['text', 'hello', 415, { 'content-type': 'text/plain' }],
    ['a client that accepts nothing', ping, 406, { accept: 'text/html' }],
    ['an unknown version', ping, 400, { 'mcp-protocol-version': '1999-01-01' }],
  ])('%s gets a refusal without detail', async (_what, body, status, headers) => {
    const answer = await post(body, headers);
    expect(answer.status).toBe(status);
    expect(await answer.text()).not.toMatch(/node_modules|\.ts\b|at /);
  });

  test('an error inside of a tool shows nothing of its cause', async () => {
    const agent = await agents.connect();
    const { refundReads } = service.deps;
    const { byId } = refundReads;
    refundReads.byId = async () => {
      throw new Error('secret detail in /srv/app.ts');
    };
    try {
      const { isError, content } = await agent.call('get_refund', { refundId: unknownRefundId });
      expect([isError, content.code]).toEqual([true, 'internal_error']);
      expect(JSON.stringify(content)).not.toContain('secret');
    } finally {
      refundReads.byId = byId;
    }
  });
});
