import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { stdioProgram } from '../../support/agents/agent.ts';
import { useAgents } from '../../support/agents/use-agents.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 500 } });
const agents = useAgents(service);

test('a call that is under way when stdin ends is still answered', async () => {
  const transactionId = await newPayment(service);
  const messages = [
    {
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'test', version: '1' },
      },
    },
    { method: 'notifications/initialized' },
    {
      id: 2,
      method: 'tools/call',
      params: { name: 'create_refund', arguments: { transactionId, amount: 500, reason: 'other' } },
    },
  ];
  const child = spawn(process.execPath, [stdioProgram()], {
    env: { REFUND_API_URL: agents.origin(), REFUND_API_KEY: service.organization.keys.test.plaintext },
    timeout: 90_000,
  });
  child.stdin.end(messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''));
  const ended = new Promise((settle) => child.once('close', settle));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  expect([code, stderr]).toEqual([0, '']);
  const answers = stdout.trim().split('\n');
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(answers.map((line) => JSON.parse(line))).toMatchObject([
    { id: 1, result: { serverInfo: { name: 'refund-service', version } } },
    { id: 2, result: { structuredContent: { refund: { transactionId, status: 'processing' } } } },
  ]);
});
