import { nameActors } from '../../audit/actors.ts';
import { recordedExport } from '../../audit/recorded-export.ts';
import { toDecimal } from '../../money/money.ts';
import type { Database, Prisma, Refund, Stores } from '../../platform/database.ts';
import { csvLine } from '../../platform/formats/csv.ts';
import { redact } from '../../platform/log.ts';
import { arrivalOf } from '../model/arrival.ts';
import type { RefundOwner, RefundWithWork } from '../model/refund.ts';
import type { RefundFilter } from './refund-filter.ts';
import { findFrom, fromNewest, loadRefunds } from './search-refunds.ts';

interface ExportRequest {
  owner: RefundOwner;
  filter: RefundFilter;
  actor: string;
  chosen?: ChosenColumns | undefined;
  /** Called before each batch. It throws when the caller has lost the permission to read, which ends the export. */
  confirm?: (() => Promise<unknown>) | undefined;
}

/**
 * Exports refunds as `exportRefunds` does, with two entries in the audit log: one before the first data leaves, and one at the
 * end, in any case, with the number of exported refunds.
 */
export function auditedExport(
  deps: Stores,
  { owner, filter, actor, chosen, confirm }: ExportRequest,
): AsyncGenerator<string, void, undefined> {
  const { organizationId, environment } = owner;
  const detail = { environment, filter: asJson(filter) };
  const actions = ['refunds.export_started', 'refunds.exported'] as const;
  return recordedExport(deps, { organizationId, actor, actions, detail }, (onRows) =>
    exportRefunds(deps.db, owner, filter, { onRows, confirm, ...(chosen && { chosen }) }),
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

/** A refund with what its export may need of other tables. */
interface ExportedRefund {
  refund: RefundWithWork;
  /** The detail of its first event. */
  created: { actor: string; policy: string | null };
  approver: string | null;
  account: string;
  /** The names of actors. */
  names: ReadonlyMap<string, string>;
}

/** The usual columns in order: `amount` in minor units, `amountDecimal` in major units, times in UTC. */
const usualColumns: Readonly<Record<string, (refund: Refund) => string | null>> = {
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

const arrivalIn = ({ refund }: ExportedRefund) => arrivalOf(refund, refund.work?.waitingFor ?? null);
const nameIn = ({ names }: ExportedRefund, actor: string | null) => actor && (names.get(actor) ?? actor);

/** What an export has only if it is asked for. */
const furtherColumns: Readonly<Record<string, (exported: ExportedRefund) => string | null>> = {
  requester: (exported) => nameIn(exported, exported.created.actor),
  approver: (exported) => nameIn(exported, exported.approver),
  acceptedAt: ({ refund }) => refund.acceptedAt?.toISOString() ?? null,
  completedAt: ({ refund }) => refund.completedAt?.toISOString() ?? null,
  policy: ({ created }) => created.policy,
  expectedBy: (exported) => arrivalIn(exported)?.expectedBy ?? null,
  bankReference: (exported) => arrivalIn(exported)?.reference ?? null,
  account: ({ account }) => account,
};

/** The columns that an export can have, beside those of metadata. */
export const exportColumns = [...Object.keys(usualColumns), ...Object.keys(furtherColumns)];
export const usualExportColumns = Object.keys(usualColumns);

/** Which columns an export has: by name, and one for each of these keys of the first level of metadata, `metadata.order`. */
export interface ChosenColumns {
  columns: readonly string[];
  metadataKeys: readonly string[];
}

const usual: ChosenColumns = { columns: usualExportColumns, metadataKeys: [] };

function cellOf(exported: ExportedRefund, column: string): string | null {
  return usualColumns[column]?.(exported.refund) ?? furtherColumns[column]?.(exported) ?? null;
}

function metadataCell({ metadata }: Refund, key: string): string | null {
  const own = (metadata ?? {}) as Record<string, unknown>;
  const value = Object.hasOwn(own, key) ? own[key] : null;
  if (value === null) return null;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Reads what refunds of one organization need for these columns; nothing for the usual ones. */
async function withDetails(
  db: Database,
  { organizationId }: RefundOwner,
  refunds: readonly RefundWithWork[],
  columns: readonly string[],
): Promise<ExportedRefund[]> {
  const areEventsNeeded = ['requester', 'approver', 'policy'].some((column) => columns.includes(column));
  const ids = areEventsNeeded ? refunds.map(({ id }) => id) : [];
  const events = await db.$queryRaw<{ id: string; seq: number; actor: string; policy: string | null }[]>`
    SELECT refund_id AS id, seq, actor, detail ->> 'policy' AS policy FROM refund_event
    WHERE refund_id = ANY (${ids}) AND (seq = 1 OR type = 'refund.processing' AND (detail -> 'approved')::text = 'true')`;
  const accounts = await db.processorAccount.findMany({
    where: { id: { in: columns.includes('account') ? refunds.map(({ accountId }) => accountId) : [] } },
    select: { id: true, name: true },
  });
  const names = await nameActors(
    db,
    organizationId,
    events.map(({ actor }) => actor),
  );
  const first = new Map(events.filter(({ seq }) => seq === 1).map((event) => [event.id, event]));
  const approved = new Map(events.filter(({ seq }) => seq > 1).map(({ id, actor }) => [id, actor]));
  const named = new Map(accounts.map(({ id, name }) => [id, name]));
  return refunds.map((refund) => ({
    refund,
    created: first.get(refund.id) ?? { actor: '', policy: null },
    approver: approved.get(refund.id) ?? null,
    account: named.get(refund.accountId) ?? '',
    names,
  }));
}

/**
 * An organization's refunds as CSV (RFC 4180), newest first: the header, then a batch of lines at a time. No refund is repeated,
 * and refunds created meanwhile are left out. Each is as it was when its batch was read.
 * @param options.chosen the usual columns by default.
 * @param options.onRows called with the number of refunds of a batch, before the batch is yielded.
 * @param options.confirm called before each batch is read; an error ends the export.
 */
export async function* exportRefunds(
  db: Database,
  owner: RefundOwner,
  filter: RefundFilter,
  options: {
    chosen?: ChosenColumns;
    onRows?: (rowCount: number) => void;
    confirm?: (() => Promise<unknown>) | undefined;
  } = {},
): AsyncGenerator<string, void, undefined> {
  let found = await findFrom(db, owner, filter, fromNewest, batchSize);
  const { columns, metadataKeys } = options.chosen ?? usual;
  yield csvLine([...columns, ...metadataKeys.map((key) => `metadata.${key}`)]);
  for (let last = found.at(-1); last !== undefined; last = found.at(-1)) {
    await options.confirm?.();
    const refunds = await withDetails(db, owner, await loadRefunds(db, found), columns);
    options.onRows?.(refunds.length);
    yield refunds
      .map((exported) => [
        ...columns.map((column) => cellOf(exported, column)),
        ...metadataKeys.map((key) => metadataCell(exported.refund, key)),
      ])
      .map(csvLine)
      .join('');
    if (found.length < batchSize) return;
    found = await findFrom(db, owner, filter, { ...fromNewest, position: last }, batchSize);
  }
}
