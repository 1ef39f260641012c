import type { Dependencies } from '#shared/dependencies.ts';
import { warnSparingly } from '#shared/platform/log.ts';
import { readRecovery } from '#shared/refunds/lifecycle/recovery.ts';
import type { Task } from './schedule.ts';

/** How often the position in the event feed is kept outside of the database, while there are new events: once a second with the look. */
const keepingMs = 750;

/** How often it is kept at least, because what keeps it may have lost it, and another process may have seen more. */
const repeatMs = 2_000;

/**
 * Keeps the last event of the feed. First it checks that the database has those that are kept, which would otherwise be overwritten
 * by a restored one; warns while a recovery is required.
 */
export function feedPositionTask({
  db,
  positionMarks,
  log,
}: Pick<Dependencies, 'db' | 'positionMarks' | 'log'>): Task {
  const warn = warnSparingly(
    log,
    'the database was restored from a backup; nothing is sent until admin recover has run',
  );
  let found: bigint | null = null;
  let kept: bigint | null = null;
  let keptAt = 0;
  return {
    name: 'keepFeedPosition',
    intervalMs: keepingMs,
    // A look asks it right before the run.
    isDue({ settledPosition }) {
      found = settledPosition;
      return found !== kept || performance.now() - keptAt >= repeatMs;
    },
    async run() {
      await positionMarks.read();
      const { generation, lastEvent, maySend } = await readRecovery(db, positionMarks.reached);
      if (!maySend) return warn(undefined);
      if (lastEvent !== null) await positionMarks.keep({ generation, ...lastEvent });
      kept = found;
      keptAt = performance.now();
    },
  };
}
