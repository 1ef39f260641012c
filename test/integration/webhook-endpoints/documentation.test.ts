import { execFile } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { attemptErrors } from '#shared/webhooks/deliveries.ts';
import { newEndpointSecret } from '#shared/webhooks/endpoint-secrets.ts';
import { startProcess } from '../../support/processes/child-process.ts';
import { freePort } from '../../support/processes/free-port.ts';
import { useTemporaryFolder } from '../../support/processes/temporary-folder.ts';
import { useService } from '../../support/use-service.ts';
import { newEndpoint } from '../../support/webhooks/api-endpoints.ts';

const root = resolve(import.meta.dirname, '..', '..', '..');
const page = readFileSync(resolve(root, 'docs/webhooks.md'), 'utf8');
const service = useService();
const inFolder = useTemporaryFolder();

/** The only example in docs/webhooks.md of a language that holds a text. */
function exampleWith(language: string, text: string): string {
  const examples = [...page.matchAll(/```(\w+)\n(.*?)```/gs)]
    .filter(([, name, code = '']) => name === language && code.includes(text))
    .map(([, , code = '']) => code);
  expect(examples).toHaveLength(1);
  return examples[0] ?? '';
}

const signed = (secret: string, body: string) => {
  const [id, at] = ['evt_01kahw3xs5fv2rj0c8m4t9p6yf', new Date()];
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
  };
};

test('the receiver in the documentation accepts a test event and refuses a forged one', async () => {
  const file = inFolder('receiver.mjs');
  writeFileSync(file, exampleWith('js', 'createServer'));
  symlinkSync(resolve(root, 'node_modules'), inFolder('node_modules'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/webhooks`;
  const { id, secret } = await newEndpoint(service, { url });
  const receiver = startProcess(file, { env: { WEBHOOK_SECRET: secret, PORT: String(port) } });
  await receiver.waitForUrl(url);
  const { body } = await service.call('POST', `/v1/webhook-endpoints/${id}/test`);
  await receiver.waitForOutput(new RegExp(`^${body.data.eventId} webhook\\.test null$`, 'm'));
  const forged = await fetch(url, { method: 'POST', body: '{}', headers: signed(newEndpointSecret(), '{}') });
  expect(forged.status).toBe(400);
  const genuine = await fetch(url, { method: 'POST', body: '{}', headers: signed(secret, '{}') });
  expect(genuine.status).toBe(204);
  await receiver.stop();
});

test('the lines of TypeScript in the documentation verify a webhook', async () => {
  const file = inFolder('verify.ts');
  writeFileSync(file, exampleWith('ts', 'verify'));
  const { verify } = await import(file);
  const [secret, body] = [newEndpointSecret(), '{"id":"evt_1"}'];
  expect(verify(body, signed(secret, body), secret)).toEqual({ id: 'evt_1' });
  expect(() => verify(`${body} `, signed(secret, body), secret)).toThrow();
});

test('the openssl example in the documentation prints the signature that the page states', async () => {
  const script = [exampleWith('sh', '> body.json'), exampleWith('sh', 'openssl dgst')].join('\n');
  const { SECRET: _secret, WEBHOOK_ID: _id, TIMESTAMP: _timestamp, ...env } = process.env;
  const { stdout } = await promisify(execFile)('sh', ['-c', script], { cwd: inFolder('.'), env });
  expect(page).toContain(`With these values it is \`${stdout}\``);
  const library = new Webhook('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
  const at = new Date(1_795_167_002_000);
  const signature = library.sign('evt_01kahw3xs5fv2rj0c8m4t9p6ye', at, '{"type":"webhook.test"}');
  expect(`v1,${stdout.trim()}`).toBe(signature);
});

test('the documentation explains every error of an attempt', () => {
  for (const code of Object.keys(attemptErrors)) expect(page).toContain(`\`${code}\``);
});
