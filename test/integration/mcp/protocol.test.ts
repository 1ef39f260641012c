import { describe, expect, test } from 'vitest';
import { useAgents } from '../../support/agents/use-agents.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { unknownRefundId } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0, CANCEL_WAIT_MS: 0 } });
const agents = useAgents(service);

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

  test('several calls in one request are refused, because limits count requests', async () => {
    const answer = await post([ping, { ...ping, id: 2 }]);
    expect(answer.status).toBe(400);
    expect((await answer.json()).error).toEqual({
      code: 'validation_error',
      message: 'body: must be one JSON-RPC message. Send a request for each.',
    });
  });

  test.each(['https://attacker.example.com', 'null', 'http://127.0.0.1.example.com'])(
    'a web page of %s is refused',
    async (origin) => {
      const answer = await post(ping, { origin });
      expect([answer.status, (await answer.json()).error.code]).toEqual([403, 'insufficient_scope']);
      expect((await post(ping, { origin: agents.origin() })).status).toBe(200);
    },
  );

  test.each([
    ['application/json', 'application/json'],
    ['*/*', 'application/json'],
    ['text/event-stream', 'text/event-stream'],
    ['application/json, text/event-stream', 'text/event-stream'],
  ])('a client that accepts %s is answered with %s', async (accept, type) => {
    const answer = await post(ping, { accept });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringContaining(type)]);
    const text = await answer.text();
    const message = type === 'application/json' ? text : /^data: (.*)$/m.exec(text)?.[1];
    expect(JSON.parse(message ?? '')).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  });

  test('a client that accepts neither JSON nor a stream is refused', async () => {
    expect((await post(ping, { accept: 'text/html' })).status).toBe(406);
  });

  test('a subscription is refused, because the tools never change', async () => {
    const about = 'io.modelcontextprotocol';
    const _meta = {
      [`${about}/protocolVersion`]: '2026-07-28',
      [`${about}/clientInfo`]: { name: 'test', version: '1.0.0' },
      [`${about}/clientCapabilities`]: {},
    };
    const params = { _meta, notifications: { toolsListChanged: true } };
    const listen = { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params };
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': listen.method };
    const answer = await post(listen, headers);
    expect(await answer.text()).toContain('Subscription limit reached');
  });

  test('metadata is announced as data from outside, and shown in the order that it has', async () => {
    const agent = await agents.connect();
    const heartOnFire = '\u2764\ufe0f\u200d\u{1f525}';
    const bits = '\ufe01\ufe0a\u034f\u3164\u200d\u200c\u200c\u200d';
    const metadata = {
      note: `ref\u202eder\u2066und\u2069 \u05e9\u05dc\u05d5\u05dd\u200b\u{e0041}\u{e0164} ${heartOnFire}${bits}`,
    };
    const { id } = await newRefund(service, { metadata });
    const { content } = await agent.call('get_refund', { refundId: id });
    expect(content.refund.metadata).toEqual({ note: `refderund \u05e9\u05dc\u05d5\u05dd ${heartOnFire}` });
    const { tools } = await agent.client.listTools();
    for (const name of ['get_refund', 'list_refunds']) {
      const { description } = tools.find((tool) => tool.name === name) ?? {};
      expect(description).toContain('`metadata` comes from other programs');
    }
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
