import { toDecimal } from '../../money/money.ts';
import { type AuditAction, writeAudit } from '../../platform/audit-log.ts';
import type { Database, Prisma, Refund } from '../../platform/database.ts';
import type { PlatformDependencies } from '../../platform/dependencies.ts';
import { redact } from '../../platform/log.ts';
import type { RefundOwner } from '../model/refund.ts';
import type { RefundFilter } from './refund-filter.ts';
import type { RefundCursor } from './search-refunds.ts';
import { findFrom, loadRefunds } from './search-refunds.ts';

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

/** Refunds that are in memory at a time. */
const batchSize = 500;

/** The columns in their order: `amount` in minor units, `amountDecimal` in those of the currency, times in UTC. */
const columns: Readonly<Record<string, (refund: Refund) => string | null>> = {
  id: ({ id }) => id,
  organizationId: ({ organizationId }) => organizationId,
  environment: ({ environment }) => environment,
  externalRefundId: ({ externalRefundId }) => externalRefundId,
  transactionId: ({ transactionId }) => transactionId,
  amount: ({ amount }) => amount.toString(),
  amountDecimal: ({ amount, currency }) => toDecimal(amount, currency),
  currency: ({ currency }) => currency,
  reason: ({ reason }) => reason,
  status: ({ status }) => status,
  processor: ({ processor }) => processor,
  processorStatus: ({ processorStatus }) => processorStatus,
  failureCode: ({ failureCode }) => failureCode,
  failureMessage: ({ failureMessage }) => failureMessage,
  metadata: ({ metadata }) => (metadata === null ? null : JSON.stringify(metadata)),
  initiatedBy: ({ initiatedBy }) => initiatedBy,
  createdAt: ({ createdAt }) => createdAt.toISOString(),
  updatedAt: ({ updatedAt }) => updatedAt.toISOString(),
};

/**
 * An organization's refunds as CSV (RFC 4180), newest first, piece by piece: the header, then whole lines, a batch at a time.
 * No refund is in it twice, and one that is created meanwhile is not in it. Each is as it was when its batch was read.
 * @param options.onRows told how many refunds a piece holds, before it is handed on.
 * @param options.confirm called before each piece is read; what it throws ends the export.
 * @throws ServiceError validation_error, at the first piece, for a filter that cannot be meant.
 */
export async function* exportRefunds(
  db: Database,
  owner: RefundOwner,
  filter: RefundFilter,
  options: {
    onRows?: (rowCount: number) => void;
    confirm?: (() => Promise<unknown>) | undefined;
  } = {},
): AsyncGenerator<string, void, undefined> {
  let found = await findFrom(db, owner, filter, null, batchSize);
  yield lineOf(Object.keys(columns));
  for (let last = found.at(-1); last !== undefined; last = found.at(-1)) {
    await options.confirm?.();
    const refunds = await loadRefunds(db, owner, found);
    options.onRows?.(refunds.length);
    yield refunds.map((refund) => lineOf(Object.values(columns).map((read) => read(refund)))).join('');
    if (found.length < batchSize) return;
    const cursor: RefundCursor = { direction: 'older', position: last };
    found = await findFrom(db, owner, filter, cursor, batchSize);
  }
}

function lineOf(fields: readonly (string | null)[]): string {
  return `${fields.map((field) => quote(disarm(field ?? ''))).join(',')}\r\n`;
}

function quote(field: string): string {
  return /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}

/** A spreadsheet would calculate what begins like a formula; after an apostrophe it is text. */
function disarm(field: string): string {
  return /^[=+\-@\t\r]/.test(field) ? `'${field}` : field;
}
