import type { Dependencies } from '#shared/dependencies.ts';
import { warnSparingly } from '#shared/platform/log.ts';
import { readRecovery } from '#shared/refunds/lifecycle/recovery.ts';
import type { Task } from './schedule.ts';

/** How often the position in the event feed is kept outside of the database. */
const keepingMs = 1_000;

/** Keeps the position that the event feed has reached, and warns while a recovery is required. */
export function feedPositionTask({
  reads,
  positionMarks,
  log,
}: Pick<Dependencies, 'reads' | 'positionMarks' | 'log'>): Task {
  const warn = warnSparingly(
    log,
    'the database was restored from a backup; nothing is sent until admin recover has run',
  );
  return {
    name: 'keepFeedPosition',
    intervalMs: keepingMs,
    async run() {
      const { generation, lastEvent, requiredSince } = await readRecovery(reads);
      if (requiredSince !== null) warn(undefined);
      else if (lastEvent !== null) await positionMarks.keep({ generation, ...lastEvent });
    },
  };
}
