import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '..', '..', '..');

/** A project that has the packed package installed, and neither its dependencies nor its sources. */
let project: string;
beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), 'client-project-'));
  const [packed, installed] = [join(project, 'packed'), join(project, 'node_modules', 'refund-service')];
  mkdirSync(packed);
  mkdirSync(installed, { recursive: true });
  for (const file of ['package.json', 'README.md', 'LICENSE']) cpSync(join(root, file), join(packed, file));
  cpSync(inject('compiledFolder'), join(packed, 'dist'), { recursive: true });
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts'], { cwd: packed });
  const [{ filename }] = JSON.parse(stdout);
  await run('tar', ['-xzf', join(packed, filename), '--strip-components=1', '-C', installed]);
  rmSync(packed, { recursive: true });
  mkdirSync(join(project, 'node_modules', '@types'));
  symlinkSync(join(root, 'node_modules', '@types', 'node'), join(project, 'node_modules', '@types', 'node'));
  writeFileSync(join(project, 'package.json'), JSON.stringify({ type: 'module' }));
  writeFileSync(join(project, 'program.ts'), program);
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

/** Compiles only with the client's types: what is expected to be an error must be one. */
const program = `
import { type Refund, RefundApiError, RefundClient, verifyWebhook } from 'refund-service/client';

const client = new RefundClient({ baseUrl: 'https://example.com', apiKey: 'svc_test_1' });
export async function use(): Promise<Refund[]> {
  const refund = await client.refunds.create({ transactionId: 'ch_1', amount: 1, reason: 'other' });
  // @ts-expect-error An amount is a number.
  await client.refunds.create({ transactionId: 'ch_1', amount: '1', reason: 'other' });
  // @ts-expect-error A reason is one of the API's.
  await client.refunds.create({ transactionId: 'ch_1', amount: 1, reason: 'because' });
  // @ts-expect-error A refund has no such field.
  refund.total;
  const found: Refund[] = [];
  for await (const failed of client.refunds.all({ status: 'failed' })) found.push(failed);
  for await (const event of client.events.all({ after: undefined, wait: 5 })) {
    if (event.type === 'refund.failed') found.push(event.data.refund);
  }
  return found;
}
const isTold = (error: unknown) => error instanceof RefundApiError && error.code === 'not_found';
// @ts-expect-error There is no such code.
const isMisspelt = (error: RefundApiError) => error.code === 'notfound';
const event = (body: string) => verifyWebhook(body, new Headers(), 'whsec_');
export const typeOf = (body: string) => event(body).type === 'webhook.test' ? isTold : isMisspelt;
`;

describe('the packed package', () => {
  test.each(['nodenext', 'bundler'])('has types for moduleResolution %s', async (moduleResolution) => {
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const module = moduleResolution === 'bundler' ? 'esnext' : 'nodenext';
    const options = ['--module', module, '--moduleResolution', moduleResolution, '--target', 'es2023'];
    const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess'];
    const compiled = run(
      process.execPath,
      [compiler, '--ignoreConfig', '--noEmit', '--types', 'node', ...options, ...strict, 'program.ts'],
      { cwd: project },
    );
    await expect(compiled.catch(({ stdout }) => ({ stdout }))).resolves.toMatchObject({ stdout: '' });
  });

  test('exports the client and nothing else', async () => {
    const names = await evaluate(`Object.keys(await import('refund-service/client'))`);
    expect(names).toEqual(['RefundApiError', 'RefundClient', 'WebhookVerificationError', 'verifyWebhook']);
    const inside = ['refund-service', 'refund-service/package.json', 'refund-service/dist/api/main.js'];
    for (const name of inside) {
      const code = await evaluate(`await import('${name}').catch(({ code }) => code)`);
      expect([name, code]).toEqual([name, 'ERR_PACKAGE_PATH_NOT_EXPORTED']);
    }
  });
});

/** The value of an expression in the project. */
async function evaluate(expression: string): Promise<unknown> {
  const script = `console.log(JSON.stringify(${expression}))`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { cwd: project });
  return JSON.parse(stdout);
}
