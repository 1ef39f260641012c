import { existsSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openLiveness } from '#worker/schedule/liveness.ts';
import { useTemporaryFolder } from '../../support/processes/temporary-folder.ts';

const inFolder = useTemporaryFolder();

test('the liveness file is as old as the look that has been under way for longest, or new after each look, failed or not', async () => {
  const path = inFolder('alive');
  let seconds = 100;
  const liveness = openLiveness(path, () => seconds * 1_000);
  const fail = () => liveness(() => Promise.reject(new Error('gone')));
  const shown = () => statSync(path).mtimeMs / 1_000;

  expect(existsSync(path)).toBe(false);
  await expect(fail()).rejects.toThrow('gone');
  expect(shown()).toBe(100);
  seconds = 120;
  let end = () => {};
  const hanging = liveness(
    () =>
      new Promise<void>((resolve) => {
        end = resolve;
      }),
  );
  seconds = 140;
  await expect(fail()).rejects.toThrow('gone');
  expect(shown()).toBe(120);
  end();
  await hanging;
  expect(shown()).toBe(140);
});
