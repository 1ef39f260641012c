import { nameActors } from '../../people/actors.ts';
import type { Database, Reads, Refund } from '../../platform/database.ts';
import type { Environment } from '../../platform/environment.ts';
import { ServiceError } from '../../platform/errors.ts';
import { type SharedStatement, shareQuestion, shareRead } from '../../platform/shared-statement.ts';
import {
  isRefundId,
  type ReadRefund,
  type RefundOwner,
  type RefundWithWork,
  refundColumns,
} from '../model/refund.ts';
import type { RefundStatus } from '../model/states.ts';

type OwnedRefund = ReadRefund & Pick<Refund, 'environment'>;

/** The reads of the API. Concurrent requests share a statement. */
export interface RefundReads {
  byId: SharedStatement<string, OwnedRefund | undefined>;
  list: SharedStatement<string, ReadRefund[]>;
}

export function openRefundReads(reads: Reads): RefundReads {
  return {
    byId: shareRead(async (ids) => {
      // By id alone, so that the planner can only use the primary key. The caller checks the owner.
      const rows = await reads.query<OwnedRefund>(
        `SELECT ${refundColumns}, r.environment FROM refund AS r WHERE r.id = ANY ($1)`,
        [ids],
      );
      return new Map(rows.map((row) => [row.id, row]));
    }),
    list: shareQuestion((page) => readPage(reads, JSON.parse(page))),
  };
}

/**
 * Reads a refund for a client.
 * @throws ServiceError not_found for an id that is unknown, malformed or another owner's.
 */
export async function readRefund(
  { byId }: RefundReads,
  { organizationId, environment }: RefundOwner,
  id: string,
): Promise<ReadRefund> {
  const refund = isRefundId(id) ? await byId(id) : undefined;
  if (refund?.organizationId === organizationId && refund.environment === environment) return refund;
  throw refundNotFound();
}

/** A page of a list of refunds. */
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
  listing: RefundListing,
): Promise<ReadRefund[]> {
  const page = { organizationId, environment, ...listing };
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
    `SELECT ${refundColumns} FROM refund AS r WHERE r.organization_id = $1 AND r.environment = $2 ${filters.join(' ')}
     ORDER BY r.created_at DESC, r.id DESC LIMIT $3 OFFSET $4`,
    values,
  );
}

/**
 * Loads a refund with its open work.
 * @throws ServiceError not_found for an id that is unknown, malformed or another owner's.
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
  throw refundNotFound();
}

export function refundNotFound(): ServiceError {
  return new ServiceError('not_found', 'Refund not found.');
}

/** The environments of an organization's refunds, by id. Other ids are left out. */
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

/**
 * The names of those who requested the refunds.
 * @param refunds of one organization.
 * @returns by the refund's id.
 */
export async function nameRequesters(
  db: Database,
  organizationId: string,
  refunds: readonly Pick<Refund, 'id'>[],
): Promise<Map<string, string>> {
  const first = await db.refundEvent.findMany({
    where: { refundId: { in: refunds.map(({ id }) => id) }, seq: 1 },
    select: { refundId: true, actor: true },
  });
  const names = await nameActors(
    db,
    organizationId,
    first.map(({ actor }) => actor),
  );
  return new Map(first.map(({ refundId, actor }) => [refundId, names.get(actor) ?? actor]));
}
