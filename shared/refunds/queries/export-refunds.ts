import { recordedExport } from '../../audit/recorded-export.ts';
import { toDecimal } from '../../money/money.ts';
import type { Database, Prisma, Refund, Stores } from '../../platform/database.ts';
import { csvLine } from '../../platform/formats/csv.ts';
import { redact } from '../../platform/log.ts';
import type { RefundOwner } from '../model/refund.ts';
import type { RefundFilter } from './refund-filter.ts';
import { findFrom, fromNewest, loadRefunds } from './search-refunds.ts';

interface ExportRequest {
  owner: RefundOwner;
  filter: RefundFilter;
  actor: string;
  /** Called before each batch. It throws when the caller has lost the permission to read, which ends the export. */
  confirm?: (() => Promise<unknown>) | undefined;
}

/**
 * Exports refunds as `exportRefunds` does, with two entries in the audit log: one before the first data leaves, and one at the
 * end, in any case, with the number of exported refunds.
 */
export function auditedExport(
  deps: Stores,
  { owner, filter, actor, confirm }: ExportRequest,
): AsyncGenerator<string, void, undefined> {
  const { organizationId, environment } = owner;
  const detail = { environment, filter: asJson(filter) };
  const actions = ['refunds.export_started', 'refunds.exported'] as const;
  return recordedExport(deps, { organizationId, actor, actions, detail }, (onRows) =>
    exportRefunds(deps.db, owner, filter, { onRows, confirm }),
  );
}

/** The search text is free text and the audit log is kept, so secrets and card numbers are masked. */
function asJson({ q, ...filter }: RefundFilter): Prisma.InputJsonObject {
  const stored = { ...filter, ...(q === undefined ? {} : { q: redact(q) }) };
  return JSON.parse(
    JSON.stringify(stored, (_name, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)),
  );
}

/** Refunds in memory at a time. */
const batchSize = 500;

/** The columns in order: `amount` in minor units, `amountDecimal` in major units, times in UTC. */
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
 * An organization's refunds as CSV (RFC 4180), newest first: the header, then a batch of lines at a time. No refund is repeated,
 * and refunds created meanwhile are left out. Each is as it was when its batch was read.
 * @param options.onRows called with the number of refunds of a batch, before the batch is yielded.
 * @param options.confirm called before each batch is read; an error ends the export.
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
  let found = await findFrom(db, owner, filter, fromNewest, batchSize);
  yield csvLine(Object.keys(columns));
  for (let last = found.at(-1); last !== undefined; last = found.at(-1)) {
    await options.confirm?.();
    const refunds = await loadRefunds(db, found);
    options.onRows?.(refunds.length);
    yield refunds.map((refund) => csvLine(Object.values(columns).map((read) => read(refund)))).join('');
    if (found.length < batchSize) return;
    found = await findFrom(db, owner, filter, { ...fromNewest, position: last }, batchSize);
  }
}
