import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startProcess } from '../../support/processes/child-process.ts';

test('npm run demo completes a refund at each processor and leaves nothing behind', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'refund-demo-test-'));
  // Shares the cache of the TypeScript loader with other processes.
  const loaderCache = `tsx-${process.getuid?.()}`;
  mkdirSync(join(tmpdir(), loaderCache), { recursive: true });
  symlinkSync(join(tmpdir(), loaderCache), join(folder, loaderCache));
  const demo = startProcess('test/dev/demo.ts', { env: { TMPDIR: folder } });
  expect(await demo.exited, demo.output()).toEqual({ code: 0, signal: null });
  expect(demo.output().match(/through (stripe|braintree): ref_/g)).toHaveLength(2);
  expect(demo.output().match(/refund\.completed/g)).toHaveLength(2);
  expect(readdirSync(folder)).toEqual([loaderCache]);
  rmSync(folder, { recursive: true, force: true });
});
