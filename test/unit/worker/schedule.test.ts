import { expect, test, vi } from 'vitest';
import { openLog } from '#shared/platform/log.ts';
import { startSchedule, type Task } from '#worker/schedule/schedule.ts';

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
  await vi.waitUntil(() => run.mock.calls.length >= 3);
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
  await vi.waitUntil(() => other.mock.calls.length >= 3);
  expect(hanging).toHaveBeenCalledOnce();
  release();
  await close();
});

test('aborts a running task when it closes, waits for it, and starts no other', async () => {
  let stop = () => {};
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  let closingSignal: AbortSignal | undefined;
  const run = vi.fn((signal: AbortSignal) => {
    closingSignal = signal;
    return stopped;
  });
  const { close } = schedule({ run });
  await vi.waitUntil(() => closingSignal !== undefined);
  let isClosed = false;
  const closing = close().then(() => {
    isClosed = true;
  });
  expect(closingSignal?.aborted).toBe(true);
  await Promise.resolve();
  expect(isClosed).toBe(false);
  stop();
  await closing;
  expect(run).toHaveBeenCalledOnce();
});
