import { expect, test, vi } from 'vitest';
import { openLog } from '#shared/platform/log.ts';
import { startSchedule, type Task } from '#worker/schedule/schedule.ts';
import { neverDue } from '../../support/looks.ts';
import { waitFor } from '../../support/wait-for.ts';

const deps = { log: openLog('silent', 'test'), random: () => 0, looks: neverDue };

function schedule(...tasks: Pick<Task, 'run' | 'isDue'>[]) {
  return startSchedule(
    deps,
    tasks.map((task, index) => ({ name: `task ${index}`, intervalMs: 1, ...task })),
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

test('a task that is not due runs once, as the worker starts', async () => {
  const [looking, other] = [vi.fn(async () => {}), vi.fn(async () => {})];
  const { close } = schedule({ run: looking, isDue: ({ batches }) => batches }, { run: other });
  await waitFor('three runs of the other', () => other.mock.calls.length >= 3);
  await close();
  expect(looking).toHaveBeenCalledOnce();
});
