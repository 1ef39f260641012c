import { toDecimal } from '../../money/money.ts';
import type { Database, Refund } from '../../platform/database.ts';
import type { RefundOwner } from '../model/refund.ts';
import type { RefundCursor } from './refund-cursor.ts';
import type { RefundFilter } from './refund-filter.ts';
import { findFrom, loadRefunds } from './search-refunds.ts';

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
