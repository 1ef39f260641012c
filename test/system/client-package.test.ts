import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { connectOverStdio } from '../support/agents/agent.ts';
import { startProcess } from '../support/processes/child-process.ts';
import { useClientProject } from '../support/processes/client-project.ts';
import { freePort } from '../support/processes/free-port.ts';
import { useService } from '../support/use-service.ts';

const run = promisify(execFile);
const service = useService();
const project = useClientProject();

/** Compiles only with the client's types: what is expected to be an error must be one. */
const typed = `
import { type Refund, RefundApiError, RefundClient, verifyWebhook } from 'refund-service-client';

const client = new RefundClient({ baseUrl: 'https://example.com', apiKey: 'svc_test_1' });
export async function use(): Promise<Refund[]> {
  const refund = await client.refunds.create({ transactionId: 'ch_1', amount: 1, reason: 'other' });
  // @ts-expect-error An amount is a number.
  await client.refunds.create({ transactionId: 'ch_1', amount: '1', reason: 'other' });
  // @ts-expect-error A reason is one of the API's.
  await client.refunds.create({ transactionId: 'ch_1', amount: 1, reason: 'because' });
  // @ts-expect-error A refund has no such field.
  refund.total;
  const found: Refund[] = await client.refunds.list({ metadata: { order: 2001, gift: true, ticket: 'T-1' } });
  for await (const failed of client.refunds.all({ status: 'failed' })) found.push(failed);
  for await (const event of client.events.all({ after: undefined, wait: 5 })) {
    if (event.type === 'refund.failed') found.push(event.data.refund);
  }
  return found;
}
const isTold = (error: unknown) => error instanceof RefundApiError && error.code === 'not_found';
// A later version may have further codes.
const isLater = (error: RefundApiError) => error.code === 'of_a_later_version';
const event = (body: string) => verifyWebhook(body, new Headers(), 'whsec_');
export const typeOf = (body: string) => event(body).type === 'webhook.test' ? isTold : isLater;
`;

const names = ['RefundApiError', 'RefundClient', 'WebhookVerificationError', 'verifyWebhook'];

describe('the packed client', () => {
  test('is small, and installs without another package and without a warning', () => {
    expect(project.installed).toMatch(/^added 2 packages in \S+$/);
    expect(project.clientBytes).toBeLessThan(25_000);
  });

  // A .cts file requires the client, also with the compiler's bundler resolution.
  test.each([
    ['nodenext', 'typed.ts'],
    ['nodenext', 'typed.cts'],
    ['bundler', 'typed.ts'],
  ])('has types for moduleResolution %s in %s', async (moduleResolution, file) => {
    project.write(file, typed);
    const module = moduleResolution === 'bundler' ? 'esnext' : 'nodenext';
    const strict = ['--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess'];
    const options = ['--noEmit', '--module', module, '--moduleResolution', moduleResolution, ...strict];
    expect(await project.compile(...options, file)).toBe('');
  });

  test('can be imported and required, with errors of one class', async () => {
    const script = `
      const required = require('refund-service-client');
      import('refund-service-client').then((imported) => {
        const isOne = imported.RefundApiError === required.RefundApiError;
        console.log(JSON.stringify([Object.keys(imported), Object.keys(required), isOne]));
      });`;
    const { stdout } = await run(process.execPath, ['--input-type=commonjs', '--eval', script], {
      cwd: project.folder,
    });
    const [imported, required, isOne] = JSON.parse(stdout);
    expect([imported.toSorted(), required.toSorted(), isOne]).toEqual([names, names, true]);
  });

  test('ends a program with an error that it does not catch in readable lines', async () => {
    const script = `
      const { RefundClient } = require('refund-service-client');
      new RefundClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'svc_test_1', maxRetries: 0 }).refunds.get('ref_1');`;
    const ended = run(process.execPath, ['--input-type=commonjs', '--eval', script], { cwd: project.folder });
    const { stderr } = await ended.catch((error: { stderr: string }) => error);
    expect(stderr).toContain('\nRefundApiError: No answer from http://127.0.0.1:1');
    expect(Math.max(...stderr.split('\n').map((line) => line.length))).toBeLessThan(250);
  });
});

test('the packed program for MCP serves the tools', async () => {
  const { plaintext } = service.organization.keys.test;
  const program = join(project.folder, 'node_modules', '.bin', 'refund-service-mcp');
  const agent = await connectOverStdio(await service.url(), plaintext, { program });
  expect((await agent.client.listTools()).tools.map(({ name }) => name)).toContain('list_refunds');
  await agent.close();
});

const page = readFileSync(new URL('../../docs/client.md', import.meta.url), 'utf8');
const examples = [...page.matchAll(/^( *)```ts\n(.*?)^\1```$/gms)].map(([, , code = '']) => code);
const [program = ''] = examples;

test('every example of docs/client.md compiles', async () => {
  const files = examples.map((example, index) => {
    const imports = example.includes('{ RefundClient')
      ? ''
      : `import { RefundClient } from 'refund-service-client';\n`;
    const client = example.includes('const client =') ? '' : 'declare const client: RefundClient;\n';
    project.write(`example-${index}.ts`, `${imports}${client}${example}\nexport {};\n`);
    return `example-${index}.ts`;
  });
  expect(files.length).toBeGreaterThan(4);
  expect(await project.compile('--noEmit', '--module', 'nodenext', ...files)).toBe('');
});

test('the program of docs/client.md is short, refunds, waits and verifies webhooks', async () => {
  expect(program.split('\n').filter((line) => line !== '')).toHaveLength(16);
  const stands = new Map([
    ['http://127.0.0.1:3000', await service.url()],
    ['svc_test_...', service.organization.keys.test.plaintext],
    ['4000', String(await freePort())],
  ]);
  let content = program;
  for (const [example, actual] of stands) {
    expect(content).toContain(example);
    content = content.replaceAll(example, actual);
  }
  // Plain JavaScript, so it runs unchanged.
  project.write('program.js', content);
  await service.sandbox.settings({ autoSettleMs: 300 });
  const running = startProcess(join(project.folder, 'program.js'));
  await running.waitForOutput(/^refund completed$/m);
  for (const type of ['refund.created', 'refund.completed']) {
    await running.waitForOutput(new RegExp(`^webhook ${type} ref_\\w+$`, 'm'));
  }
  await running.kill9();
});
