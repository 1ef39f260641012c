import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';

/**
 * Gives a test file, or a `describe` block, a folder. Call it before the hooks that use it, so that the folder is removed
 * after them.
 * @returns the path of a file in the folder, for use in hooks and tests.
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
    if (folder === null) throw new Error('The folder is created in beforeAll. Use it in a hook or a test.');
    return join(folder, ...names);
  };
}
