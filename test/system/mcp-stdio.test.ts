import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { changeApiKey } from '#shared/organizations/change-api-key.ts';
import { connectOverStdio, stdioProgram } from '../support/agents/agent.ts';
import { expectFirstRefund } from '../support/agents/first-refund.ts';
import { useAgents } from '../support/agents/use-agents.ts';
import { freePort } from '../support/processes/free-port.ts';
import { newPayment } from '../support/refunds/payments.ts';
import { useService } from '../support/use-service.ts';

const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 500 } });
const agents = useAgents(service);

/** Runs the program with the given input until it ends. */
async function run(
  env: Record<string, string>,
  { command = process.execPath, args = [stdioProgram()], input = '', endsAtOnce = false } = {},
) {
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    timeout: 300_000,
  });
  child.stdin.on('error', () => {});
  child.stdin.write(input);
  const ended = new Promise<number | null>((settle) => child.once('close', settle));
  // A client keeps stdin open until it has read the answer.
  if (endsAtOnce || input === '') child.stdin.end();
  else child.stdout.once('data', () => child.stdin.end());
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, stdout, stderr };
}

const key = () => service.organization.keys.test.plaintext;
const initialize = `${JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
})}\n`;

test.each<[string, () => Record<string, string> | Promise<Record<string, string>>, RegExp]>([
  [
    'no address',
    () => ({ REFUND_API_KEY: key() }),
    /^REFUND_API_URL must be the address of the API, such as https:\/\/refunds\.example\.com\n$/,
  ],
  [
    'no key',
    () => ({ REFUND_API_URL: agents.origin() }),
    /^REFUND_API_KEY must be an API key, svc_test_\.\.\. or svc_live_\.\.\.\n$/,
  ],
  [
    'a refused key',
    () => ({ REFUND_API_URL: agents.origin(), REFUND_API_KEY: `svc_test_${'x'.repeat(32)}` }),
    /^The API refused REFUND_API_KEY: it is unknown, revoked or expired\. Set a valid key\.\n$/,
  ],
  [
    'an address where nothing listens',
    async () => ({ REFUND_API_URL: `http://127.0.0.1:${await freePort()}`, REFUND_API_KEY: key() }),
    /^The API at http:\/\/127\.0\.0\.1:\d+ cannot be reached \(ECONNREFUSED\)\. Check REFUND_API_URL, and that the API is running\.\n$/,
  ],
  [
    'an address of something else',
    () => ({ REFUND_API_URL: `${service.sandboxUrl}/nothing`, REFUND_API_KEY: key() }),
    /^The server at http:\S+ is not the refund API: HTTP 404\. Check REFUND_API_URL\.\n$/,
  ],
])('with %s the program ends with one line on stderr', async (_what, env, line) => {
  const { code, stdout, stderr } = await run(await env(), { input: initialize });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(line);
});

test('an API that is busy when the program starts is asked again', async () => {
  const port = await freePort();
  const requests: string[] = [];
  const busy = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    if (requests.length === 1) return response.writeHead(503, { 'retry-after': '0' }).end('{}');
    response.writeHead(401).end();
  }).listen(port, '127.0.0.1');
  onTestFinished(() => void busy.close());
  const env = { REFUND_API_URL: `http://127.0.0.1:${port}`, REFUND_API_KEY: key() };
  const { stderr } = await run(env, { input: initialize });
  expect(requests).toEqual(['POST /mcp', 'POST /mcp']);
  expect(stderr).toContain('The API refused REFUND_API_KEY');
});

test('`npm run --silent mcp` prints nothing but messages of the protocol', async () => {
  const env = { REFUND_API_URL: `${agents.origin()}/`, REFUND_API_KEY: key() };
  const options = { command: 'npm', args: ['run', '--silent', 'mcp'], input: initialize };
  const { code, stdout } = await run(env, options);
  expect(code).toBe(0);
  const messages = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(messages).toMatchObject([
    {
      jsonrpc: '2.0',
      id: 1,
      result: { serverInfo: { name: 'refund-service' }, protocolVersion: '2025-06-18' },
    },
  ]);
});

test('a key that is stopped, or expires, while the program runs is refused', async () => {
  const { plaintext, keyId } = await agents.connect();
  const agent = await connectOverStdio(agents.origin(), plaintext);
  onTestFinished(() => agent.close());
  await changeApiKey(service.deps, { keyId, actor: 'test', change: { isStopped: true } });
  const message = expect.stringContaining('This API key is stopped.');
  const refused = { isError: true, content: { code: 'insufficient_scope', message } };
  expect(await agent.call('list_refunds')).toEqual(refused);
  await service.deps.db.apiKey.update({ where: { id: keyId }, data: { expiresAt: new Date(0) } });
  await expect(agent.call('list_refunds')).rejects.toThrow('The API refused REFUND_API_KEY');
});

test('a call that is under way when stdin ends is still answered', async () => {
  const transactionId = await newPayment(service);
  const args = { transactionId, amount: 500, reason: 'other' };
  const params = { name: 'create_refund', arguments: args };
  const messages = [{ method: 'notifications/initialized' }, { id: 2, method: 'tools/call', params }];
  const lines = messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const env = { REFUND_API_URL: agents.origin(), REFUND_API_KEY: key() };
  const { code, stdout, stderr } = await run(env, { input: initialize + lines.join(''), endsAtOnce: true });
  expect([code, stderr]).toEqual([0, '']);
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  const answers = stdout.trim().split('\n');
  expect(answers.map((line) => JSON.parse(line))).toMatchObject([
    { id: 1, result: { serverInfo: { name: 'refund-service', version } } },
    { id: 2, result: { structuredContent: { refund: { transactionId, status: 'processing' } } } },
  ]);
});

describe('an agent over stdio', () => {
  const working = useService();
  const connected = useAgents(working);

  test.each([
    ['the protocol of 2025', {}],
    ['the protocol of 2026', { versionNegotiation: { mode: 'auto' } }],
  ] as const)(
    'by %s finds five tools, and creates and gets a refund, which the API shows as requested by mcp',
    async (_protocol, options) => {
      await working.sandbox.settings({ autoSettleMs: 0 });
      const { plaintext } = working.organization.keys.test;
      const agent = await connectOverStdio(connected.origin(), plaintext, options);
      onTestFinished(() => agent.close());
      await expectFirstRefund(working, agent);
    },
  );
});
