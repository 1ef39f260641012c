import { open } from 'node:fs/promises';
import type { Task } from './schedule.ts';

/**
 * Lets a health check outside of the process see that all tasks still run. After each run, failed or not, the modification time of a
 * file is set to when the task that has waited longest ended its last run. So the file grows old when the process is frozen, its event
 * loop is blocked, or a single task hangs.
 * @param path of the file, which is created; its folder has to exist. Null for none.
 * @param now milliseconds since 1970 by the clock of this machine, which the check compares with.
 */
export function withLiveness(path: string | null, tasks: readonly Task[], now = Date.now): readonly Task[] {
  if (path === null) return tasks;
  const endedAt = new Map(tasks.map((task) => [task, now()]));
  const beat = async (task: Task) => {
    endedAt.set(task, now());
    const oldest = Math.min(...endedAt.values()) / 1_000;
    // Opened for appending, which does not change the time of a file that exists.
    const file = await open(path, 'a');
    await file.utimes(oldest, oldest).finally(() => file.close());
  };
  return tasks.map((task) => ({ ...task, run: (closing) => task.run(closing).finally(() => beat(task)) }));
}
