import { expect, test, vi } from 'vitest';
import { openLog } from '#shared/platform/log.ts';
import { startSchedule, type Task } from '#worker/schedule/schedule.ts';
import { waitFor } from '../../support/wait-for.ts';

const deps = { log: openLog('silent', 'test'), random: () => 0 };

function schedule(...tasks: Pick<Task, 'run'>[]) {
  return startSchedule(
    deps,
    tasks.map(({ run }, index) => ({ name: `task ${index}`, intervalMs: 1, run })),
  );
}

test('runs a task again after it has ended, also when it failed', async () => {
  const run = vi.fn(async () => {
    throw new Error('gone');
  });
  const { close } = schedule({ run });
  await waitFor('three runs', () => run.mock.calls.length >= 3);
  await close();
});

test('does not delay a task by another one that hangs, and does not start that one again', async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const hanging = vi.fn(() => held);
  const other = vi.fn(async () => {});
  const { close } = schedule({ run: hanging }, { run: other });
  await waitFor('three runs', () => other.mock.calls.length >= 3);
  expect(hanging).toHaveBeenCalledOnce();
  release();
  await close();
});
