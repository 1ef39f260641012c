import { isDeepStrictEqual } from 'node:util';
import type { Dependencies } from '../dependencies.ts';
import { writeAudit } from '../platform/audit-log.ts';
import { ServiceError } from '../platform/errors.ts';
import { findOrganization, lockOrganization } from '../platform/organization.ts';

/** Keys that an organization may name. */
export const maxRefundColumns = 3;

/** What a key of metadata may be, without what a list cannot show. */
const keyPattern = /^\P{C}{1,40}$/u;

/**
 * Sets which values of a refund's metadata the dashboard shows in lists of refunds. An unchanged setting is not written.
 * @param request.keys of the first level, in their order; none for the usual order and customer. Repeated ones count once.
 * @throws ServiceError validation_error for too many keys or an impossible one; not_found for an unknown organization.
 */
export async function setRefundColumns(
  deps: Pick<Dependencies, 'db' | 'clock'>,
  request: { organizationId: string; actor: string; keys: readonly string[] },
): Promise<void> {
  const { organizationId, actor } = request;
  const keys = [...new Set(request.keys)];
  if (keys.length > maxRefundColumns || !keys.every((key) => keyPattern.test(key))) {
    const problem = `keys: must be at most ${maxRefundColumns}, with 1 to 40 printable characters each.`;
    throw new ServiceError('validation_error', problem);
  }
  await deps.db.$transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    const { refundColumns: from } = await findOrganization(tx, organizationId);
    if (isDeepStrictEqual(from, keys)) return;
    await tx.organization.update({ where: { id: organizationId }, data: { refundColumns: keys } });
    const entry = { organizationId, actor, action: 'organization.refund_columns_set' } as const;
    await writeAudit(tx, { ...entry, target: organizationId, detail: { from, to: keys } }, deps.clock.now());
  });
}
