import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';

/**
 * Gives a test file, or a `describe` block, a folder of its own. To be called before the hooks that use it, so that
 * the folder is removed after they are done.
 * @returns a function that tells the path of something in it once the tests run.
 */
export function useTemporaryFolder(): (...names: string[]) => string {
  let folder: string | null = null;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'refund-test-'));
  });
  afterAll(() => {
    if (folder !== null) rmSync(folder, { recursive: true, force: true });
  });
  return (...names) => {
    if (folder === null) throw new Error('The folder is made in beforeAll; ask for it in a hook or a test.');
    return join(folder, ...names);
  };
}
