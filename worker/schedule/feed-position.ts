import type { Dependencies } from '#shared/dependencies.ts';
import { warnSparingly } from '#shared/platform/log.ts';
import { readRecovery } from '#shared/refunds/lifecycle/recovery.ts';
import type { Task } from './schedule.ts';

/** How often the position in the event feed is kept outside of the database. */
const keepingMs = 1_000;

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
  return {
    name: 'keepFeedPosition',
    intervalMs: keepingMs,
    async run() {
      await positionMarks.read();
      const { generation, lastEvent, maySend } = await readRecovery(db, positionMarks.reached);
      if (!maySend) warn(undefined);
      else if (lastEvent !== null) await positionMarks.keep({ generation, ...lastEvent });
    },
  };
}
