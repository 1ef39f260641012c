import { open } from 'node:fs/promises';

/** Does a look for what is due. */
export type Liveness = <Result>(look: () => Promise<Result>) => Promise<Result>;

/**
 * Lets a health check outside of the process see that looks still end. After each one, failed or not, the modification time of a
 * file is set to when the one that has been under way for longest began, or else to now. So the file grows old when the process is
 * frozen, its event loop is blocked, or a single look hangs.
 * @param path of the file, which is created; its folder has to exist. Null for none.
 * @param now milliseconds since 1970 by the clock of this machine, which the check compares with.
 */
export function openLiveness(path: string | null, now = Date.now): Liveness {
  if (path === null) return (look) => look();
  const underWay = new Map<symbol, number>();
  return async (look) => {
    const own = Symbol();
    underWay.set(own, now());
    try {
      return await look();
    } finally {
      underWay.delete(own);
      const since = Math.min(now(), ...underWay.values()) / 1_000;
      // Opened for appending, which does not change the time of a file that exists.
      const file = await open(path, 'a');
      await file.utimes(since, since).finally(() => file.close());
    }
  };
}
