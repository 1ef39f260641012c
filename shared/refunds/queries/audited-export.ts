import { type AuditAction, writeAudit } from '../../platform/audit-log.ts';
import type { Prisma } from '../../platform/database.ts';
import type { PlatformDependencies } from '../../platform/dependencies.ts';
import { redact } from '../../platform/redact.ts';
import type { RefundOwner } from '../model/refund.ts';
import { exportRefunds } from './export-refunds.ts';
import type { RefundFilter } from './refund-filter.ts';

/** An export that somebody has asked for. */
export interface ExportRequest {
  owner: RefundOwner;
  filter: RefundFilter;
  actor: string;
  /** Called before the refunds of each batch are loaded: it throws once whoever asked may read no more, which breaks the export off. */
  confirm?: (() => Promise<unknown>) | undefined;
}

/** Whoever follows an export from outside. */
export interface ExportObserver {
  /** More refunds are about to be handed on. */
  onRows(rowCount: number): void;
  /** It is over; not complete when it was broken off, by whoever reads it or by a fault. */
  onEnd(isComplete: boolean): void;
}

/**
 * Refunds as CSV, as `exportRefunds` has them, with two entries in the audit log: one before the first piece, so that no data
 * leaves unseen, and one at the end, however it ends, with the number of refunds that were handed on.
 */
export async function* auditedExport(
  deps: Pick<PlatformDependencies, 'db' | 'clock'>,
  { owner, filter, actor, confirm }: ExportRequest,
  observer: ExportObserver,
): AsyncGenerator<string, void, undefined> {
  const audit = (action: AuditAction, more: Prisma.InputJsonObject = {}) => {
    const { organizationId, environment } = owner;
    const detail = { environment, filter: asJson(filter), ...more };
    const entry = { organizationId, actor, action, target: organizationId, detail };
    return writeAudit(deps.db, entry, deps.clock.now());
  };
  let rowCount = 0;
  let isComplete = false;
  let hasFailed = false;
  const onRows = (count: number) => {
    rowCount += count;
    observer.onRows(count);
  };
  try {
    await audit('refunds.export_started');
    yield* exportRefunds(deps.db, owner, filter, { onRows, confirm });
    isComplete = true;
  } catch (error) {
    hasFailed = true;
    throw error;
  } finally {
    observer.onEnd(isComplete);
    const ended = audit('refunds.exported', { rowCount, isComplete });
    // What went wrong first is what has to be told, also where the entry cannot be written for the same reason.
    await (hasFailed ? ended.catch(() => undefined) : ended);
  }
}

/** What was searched for is free text, and kept for good: somebody may have pasted what does not belong there. */
function asJson({ q, ...filter }: RefundFilter): Prisma.InputJsonObject {
  const told = { ...filter, ...(q === undefined ? {} : { q: redact(q) }) };
  return JSON.parse(
    JSON.stringify(told, (_name, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)),
  );
}
