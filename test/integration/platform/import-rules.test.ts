import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';

const biome = path.resolve('node_modules/@biomejs/biome/bin/biome');

/** Lints a text as if it stood in a file of this project, and tells the rules that it breaks. */
async function brokenRules(file: string, text: string): Promise<string[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'import-rules-'));
  try {
    // The settings as they are, but for what only a checkout has.
    const { $schema: _schema, vcs: _vcs, ...settings } = JSON.parse(await readFile('biome.json', 'utf8'));
    await writeFile(path.join(folder, 'biome.json'), JSON.stringify(settings));
    await mkdir(path.join(folder, path.dirname(file)), { recursive: true });
    await writeFile(path.join(folder, file), `${text}\n`);
    const output = await new Promise<string>((resolve) => {
      const args = [biome, 'lint', file];
      execFile(process.execPath, args, { cwd: folder }, (_error, stdout, stderr) => resolve(stdout + stderr));
    });
    expect(output).toContain('Checked 1 file');
    return ['noRestrictedImports', 'noProcessEnv'].filter((rule) => output.includes(`lint/style/${rule}`));
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('the import rules that npm run check enforces', () => {
  test.each([
    ['api does not import worker', 'api/x.ts', "export { x } from '../worker/main.ts';"],
    ['worker does not import api', 'worker/x.ts', "export type { x } from '../api/main.ts';"],
    ['shared does not import api', 'shared/x.ts', "export { x } from '../api/main.ts';"],
    ['shared does not import worker', 'shared/refunds/x.ts', "export { x } from '../../../worker/main.ts';"],
    [
      'production code does not import tests',
      'worker/jobs/x.ts',
      "export { x } from '../../test/harness/x.ts';",
    ],
    ['stripe stays in its adapter', 'worker/x.ts', "export { Stripe } from 'stripe';"],
    ['braintree stays in its adapter', 'shared/processors/stripe/x.ts', "export { x } from 'braintree';"],
    ['bullmq stays in the queues', 'worker/x.ts', "export type { Job } from 'bullmq';"],
    [
      'bullmq stays in the queues, also for the board',
      'api/dashboard/queues/x.ts',
      "export { Queue } from 'bullmq';",
    ],
    [
      'the generated client stays in the database',
      'shared/refunds/x.ts',
      "export { x } from '../../../prisma/generated/client.ts';",
    ],
    [
      'adapters are reached through the registry',
      'worker/x.ts',
      "export { x } from '../shared/processors/stripe/adapter.ts';",
    ],
    ['the state table is a pure leaf', 'shared/refunds/model/states.ts', "export { x } from '../../db.ts';"],
    ['money is a pure leaf', 'shared/money/money.ts', "export { z } from 'zod';"],
    ['policy evaluation is a pure leaf', 'shared/policies/evaluate.ts', "export { x } from '../db.ts';"],
  ])('%s', async (_rule, file, text) => {
    expect(await brokenRules(file, text)).toEqual(['noRestrictedImports']);
  });

  test('the environment is read in the configuration only', async () => {
    expect(await brokenRules('api/x.ts', 'export const x = process.env.X;')).toEqual(['noProcessEnv']);
    expect(await brokenRules('shared/platform/config.ts', 'export const x = process.env.X;')).toEqual([]);
  });

  test('what the rules allow is not refused', async () => {
    expect(await brokenRules('api/x.ts', "export { x } from '../shared/db.ts';")).toEqual([]);
    expect(await brokenRules('shared/processors/stripe/x.ts', "export { Stripe } from 'stripe';")).toEqual(
      [],
    );
  });
});
