import type { Database, Reads, Refund } from '../db.ts';
import type { Environment } from '../environment.ts';
import { ServiceError } from '../errors.ts';
import { type SharedStatement, shareQuestion, shareRead } from '../platform/shared-statement.ts';
import type { RefundWithWork } from './lifecycle/flag.ts';
import type { RefundStatus } from './model/states.ts';

/** Whose refunds are meant; those of another organization or environment do not exist for it. */
export interface RefundOwner {
  organizationId: string;
  environment: Environment;
}

/** A refund as far as clients see it, with what an answer about it needs besides. */
export type ReadRefund = Pick<
  Refund,
  | 'id'
  | 'organizationId'
  | 'externalRefundId'
  | 'transactionId'
  | 'amount'
  | 'currency'
  | 'reason'
  | 'status'
  | 'processor'
  | 'metadata'
  | 'initiatedBy'
  | 'createdAt'
  | 'updatedAt'
>;

const columns = `r.id, r.organization_id AS "organizationId", r.external_refund_id AS "externalRefundId",
  r.transaction_id AS "transactionId", r.amount, r.currency, r.reason, r.status, r.processor, r.metadata,
  r.initiated_by AS "initiatedBy", r.created_at AS "createdAt", r.updated_at AS "updatedAt"`;

/** A refund with the environment that it belongs to. */
type OwnedRefund = ReadRefund & Pick<Refund, 'environment'>;

/** What clients read, shared by requests that ask at the same moment. */
export interface RefundReads {
  byId: SharedStatement<string, OwnedRefund | undefined>;
  list: SharedStatement<string, ReadRefund[]>;
}

export function openRefundReads(reads: Reads): RefundReads {
  return {
    byId: shareRead(async (ids) => {
      // By the ids alone, whose index can never be the wrong one; their owner is checked by who asks.
      const rows = await reads.query<OwnedRefund>(
        `SELECT ${columns}, r.environment FROM refund AS r WHERE r.id = ANY ($1)`,
        [ids],
      );
      return new Map(rows.map((row) => [row.id, row]));
    }),
    list: shareQuestion((page) => readPage(reads, JSON.parse(page))),
  };
}

/**
 * Reads a refund for a client.
 * @throws ServiceError not_found for an id that is unknown, malformed or another owner's, all alike.
 */
export async function readRefund(
  { byId }: RefundReads,
  { organizationId, environment }: RefundOwner,
  id: string,
): Promise<ReadRefund> {
  const refund = isRefundId(id) ? await byId(id) : undefined;
  if (refund?.organizationId === organizationId && refund.environment === environment) return refund;
  throw notFound();
}

/** A refund that a request waits for. */
export type WatchedRefund = ReadRefund &
  Pick<Refund, 'failureCode' | 'failureMessage'> & {
    /** True while the processor is to be asked to cancel it. */
    isToBeCancelled: boolean;
    /** Changes with any of these. */
    version: string;
  };

/**
 * Reads those of the refunds that requests wait for which have changed.
 * @param versions by id: the one that was seen last, null for a refund that has not been seen yet.
 */
export async function readChanged(
  reads: Reads,
  versions: ReadonlyMap<string, string | null>,
): Promise<WatchedRefund[]> {
  return await reads.query<WatchedRefund>(
    `SELECT ${columns}, r.failure_code AS "failureCode", r.failure_message AS "failureMessage",
       is_to_be_cancelled AS "isToBeCancelled", now.version
     FROM unnest($1::text[], $2::text[]) AS seen(id, version)
     JOIN refund AS r ON r.id = seen.id
     LEFT JOIN refund_work AS w ON w.refund_id = r.id
     CROSS JOIN LATERAL (SELECT w.cancel_requested_at IS NOT NULL AS is_to_be_cancelled) AS asked
     CROSS JOIN LATERAL (SELECT concat_ws(' ', r.xmin, is_to_be_cancelled) AS version) AS now
     WHERE now.version IS DISTINCT FROM seen.version`,
    [[...versions.keys()], [...versions.values()]],
  );
}

/** Part of a list of refunds; what is undefined does not restrict. */
export interface RefundListing {
  status: RefundStatus | undefined;
  processor: string | undefined;
  limit: number;
  offset: number;
}

/** A page of an organization's refunds, newest first. */
export async function listRefunds(
  { list }: RefundReads,
  { organizationId, environment }: RefundOwner,
  { status, processor, limit, offset }: RefundListing,
): Promise<ReadRefund[]> {
  const page = { organizationId, environment, status, processor, limit, offset };
  return await list(JSON.stringify(page));
}

async function readPage(
  reads: Reads,
  { organizationId, environment, status, processor, limit, offset }: RefundOwner & RefundListing,
): Promise<ReadRefund[]> {
  const values: unknown[] = [organizationId, environment, limit, offset];
  const filters = [
    ...(status === undefined ? [] : [`AND r.status = $${values.push(status)}`]),
    ...(processor === undefined ? [] : [`AND r.processor = $${values.push(processor)}`]),
  ];
  return await reads.query<ReadRefund>(
    `SELECT ${columns} FROM refund AS r WHERE r.organization_id = $1 AND r.environment = $2 ${filters.join(' ')}
     ORDER BY r.created_at DESC, r.id DESC LIMIT $3 OFFSET $4`,
    values,
  );
}

/**
 * Loads a refund with its open work.
 * @throws ServiceError not_found for an id that is unknown, malformed or another owner's, all alike.
 */
export async function findOwnRefund(
  db: Database,
  { organizationId, environment }: RefundOwner,
  id: string,
): Promise<RefundWithWork> {
  const refund = isRefundId(id)
    ? await db.refund.findUnique({ where: { id }, include: { work: true } })
    : null;
  if (refund?.organizationId === organizationId && refund.environment === environment) return refund;
  throw notFound();
}

/** True for what has the shape of our ids; anything else is no refund's, and perhaps nothing that the database can be asked. */
export function isRefundId(id: string): boolean {
  return /^ref_[a-z0-9]{1,64}$/.test(id);
}

function notFound(): ServiceError {
  return new ServiceError('not_found', 'No such refund.');
}

/** In which environment an organization's refunds are, by id; ids that are none of its refunds are left out. */
export async function findRefundEnvironments(
  db: Database,
  organizationId: string,
  ids: readonly string[],
): Promise<Map<string, Environment>> {
  const refundIds = ids.filter((id) => id.startsWith('ref_'));
  if (refundIds.length === 0) return new Map();
  const refunds = await db.refund.findMany({
    where: { id: { in: refundIds }, organizationId },
    select: { id: true, environment: true },
  });
  return new Map(refunds.map(({ id, environment }) => [id, environment]));
}
