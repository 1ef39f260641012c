import type { Database, Refund } from '../db.ts';
import type { Environment } from '../environment.ts';
import { ServiceError } from '../errors.ts';
import type { RefundStatus } from './states.ts';

/** Whose refunds are meant; those of another organization or environment do not exist for it. */
export interface RefundOwner {
  organizationId: string;
  environment: Environment;
}

/**
 * @throws ServiceError not_found for an id that is unknown, malformed or somebody else's, all alike.
 */
export async function findOwnRefund(db: Database, owner: RefundOwner, id: string): Promise<Refund> {
  const refund = /^ref_[a-z0-9]{1,64}$/.test(id)
    ? await db.refund.findFirst({ where: { ...ownerOf(owner), id } })
    : null;
  if (refund === null) throw new ServiceError('not_found', 'No such refund.');
  return refund;
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

/** A page of an organization's refunds, newest first. */
export async function listRefunds(
  db: Database,
  owner: RefundOwner,
  page: {
    status: RefundStatus | undefined;
    processor: string | undefined;
    limit: number;
    offset: number;
  },
): Promise<Refund[]> {
  const { status, processor, limit, offset } = page;
  return await db.refund.findMany({
    where: {
      ...ownerOf(owner),
      ...(status === undefined ? {} : { status }),
      ...(processor === undefined ? {} : { processor }),
    },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: limit,
    skip: offset,
  });
}

function ownerOf({ organizationId, environment }: RefundOwner): RefundOwner {
  return { organizationId, environment };
}
