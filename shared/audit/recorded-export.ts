import type { Clock } from '../platform/clock.ts';
import type { Database, Prisma } from '../platform/database.ts';
import { type AuditAction, type AuditEntry, writeAudit } from './audit-log.ts';

/** An export as the audit log has it. */
interface RecordedExport extends Pick<AuditEntry, 'organizationId' | 'actor'> {
  actions: readonly [started: AuditAction, ended: AuditAction];
  detail: Prisma.InputJsonObject;
}

/**
 * Runs an export with two entries in the audit log: one before the first data leaves, and one at the end, in any case, with the
 * number of exported rows.
 * @param lines makes the export; it calls `onRows` with the number of rows of a batch, before it yields the batch.
 */
export async function* recordedExport(
  deps: { db: Database; clock: Clock },
  { organizationId, actor, actions: [started, ended], detail }: RecordedExport,
  lines: (onRows: (rowCount: number) => void) => AsyncIterable<string>,
): AsyncGenerator<string, void, undefined> {
  const audit = (action: AuditAction, more: Prisma.InputJsonObject = {}) => {
    const entry = { organizationId, actor, action, target: organizationId, detail: { ...detail, ...more } };
    return writeAudit(deps.db, entry, deps.clock.now());
  };
  let rowCount = 0;
  let isComplete = false;
  let hasFailed = false;
  const onRows = (count: number) => {
    rowCount += count;
  };
  try {
    await audit(started);
    yield* lines(onRows);
    isComplete = true;
  } catch (error) {
    hasFailed = true;
    throw error;
  } finally {
    const entry = audit(ended, { rowCount, isComplete });
    // The first error is the one to report; the entry often fails for the same reason.
    await (hasFailed ? entry.catch(() => undefined) : entry);
  }
}
