import { existsSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { withLiveness } from '#worker/schedule/liveness.ts';
import { useTemporaryFolder } from '../../support/processes/temporary-folder.ts';

const inFolder = useTemporaryFolder();

test('the liveness file is as old as the last end of the task that ended longest ago, failed or not', async () => {
  const path = inFolder('alive');
  let seconds = 100;
  const task = (name: string, run: () => Promise<void>) => ({ name, intervalMs: 1, run });
  const failing = task('failing', () => Promise.reject(new Error('gone')));
  const hanging = task('hanging', () => new Promise(() => {}));
  const tasks = withLiveness(path, [failing, hanging], () => seconds * 1_000);
  const [runFailing, runHanging] = tasks.map(
    ({ run }) =>
      () =>
        run(new AbortController().signal),
  );
  const shown = () => statSync(path).mtimeMs / 1_000;

  expect(existsSync(path)).toBe(false);
  void runHanging?.();
  seconds = 140;
  await expect(runFailing?.()).rejects.toThrow('gone');
  expect(shown()).toBe(100);
  const [alone] = withLiveness(path, [failing], () => seconds * 1_000);
  await expect(alone?.run(new AbortController().signal)).rejects.toThrow('gone');
  expect(shown()).toBe(140);
});
