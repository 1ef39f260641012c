import { nameActors } from '../../people/actors.ts';
import type { Database, Refund } from '../../platform/database.ts';

/**
 * Says in words who asked for each of these refunds, in two queries.
 * @param refunds all of one organization.
 * @returns by the refund's id; one without a timeline has no entry.
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
