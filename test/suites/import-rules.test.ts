import { execFile } from 'node:child_process';
import { describe, expect, test } from 'vitest';

const biome = 'node_modules/@biomejs/biome/bin/biome';

/** Lints a text as if it stood in a file, and tells the rules that it breaks. */
async function brokenRules(file: string, text: string): Promise<string[]> {
  const output = await new Promise<string>((resolve) => {
    const child = execFile(
      process.execPath,
      [biome, 'lint', '--reporter=json', `--stdin-file-path=${file}`],
      (_error, stdout, stderr) => resolve(stdout + stderr),
    );
    child.stdin?.end(text);
  });
  return ['noRestrictedImports', 'noProcessEnv'].filter((rule) => output.includes(rule));
}

describe('the import rules that npm run check enforces', () => {
  test.each([
    ['api does not import worker', 'api/x.ts', "export { x } from '../worker/main.ts';"],
    ['worker does not import api', 'worker/x.ts', "export type { x } from '../api/main.ts';"],
    ['shared does not import api', 'shared/x.ts', "export { x } from '../api/main.ts';"],
    ['shared does not import worker', 'shared/refunds/x.ts', "export { x } from '../../worker/main.ts';"],
    [
      'production code does not import tests',
      'worker/jobs/x.ts',
      "export { x } from '../../test/harness/x.ts';",
    ],
    ['stripe stays in its adapter', 'worker/x.ts', "export { Stripe } from 'stripe';"],
    ['braintree stays in its adapter', 'shared/processors/stripe/x.ts', "export { x } from 'braintree';"],
    ['bullmq stays in the queues', 'worker/x.ts', "export type { Job } from 'bullmq';"],
    [
      'the generated client stays in the database',
      'shared/refunds/x.ts',
      "export { x } from '../../prisma/generated/client.ts';",
    ],
    [
      'adapters are reached through the registry',
      'worker/x.ts',
      "export { x } from '../shared/processors/stripe/adapter.ts';",
    ],
    ['the state table is a pure leaf', 'shared/refunds/states.ts', "export { x } from '../db.ts';"],
    ['money is a pure leaf', 'shared/money.ts', "export { z } from 'zod';"],
    ['policy evaluation is a pure leaf', 'shared/policies/evaluate.ts', "export { x } from '../db.ts';"],
  ])('%s', async (_rule, file, text) => {
    expect(await brokenRules(file, text)).toEqual(['noRestrictedImports']);
  });

  test('the environment is read in the configuration only', async () => {
    expect(await brokenRules('api/x.ts', 'export const x = process.env.X;')).toEqual(['noProcessEnv']);
    expect(await brokenRules('shared/config.ts', 'export const x = process.env.X;')).toEqual([]);
  });

  test('what the rules allow is not refused', async () => {
    expect(await brokenRules('api/x.ts', "export { x } from '../shared/db.ts';")).toEqual([]);
    expect(await brokenRules('shared/processors/stripe/x.ts', "export { Stripe } from 'stripe';")).toEqual(
      [],
    );
  });
});
