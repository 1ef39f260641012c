import { once } from 'node:events';
import type { Looks } from '#worker/schedule/looks.ts';

/** For a schedule whose tasks run at every interval. */
export const alwaysDue: Pick<Looks, 'untilDue'> = { untilDue: async () => {} };

/** For a schedule whose tasks run as it starts, unless they need no look. */
export const neverDue: Pick<Looks, 'untilDue'> = {
  async untilDue(_isDue, signal) {
    if (!signal.aborted) await once(signal, 'abort');
  },
};
