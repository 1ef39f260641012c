import type { Dependencies } from '../dependencies.ts';
import { writeAudit } from '../platform/audit-log.ts';
import { ServiceError } from '../platform/errors.ts';
import { findOrganization, lockOrganization } from '../platform/organization.ts';

/** Accepted invitations are kept this long after they expire. */
export const maxFourEyesDays = 90;

/**
 * Sets how many days an accepted invitation keeps the inviter and the invited from approving each other's refunds. An unchanged
 * number is not written.
 * @param request.days 0 for no such rule.
 * @throws ServiceError validation_error for a number out of range; not_found for an unknown organization.
 */
export async function setFourEyesDays(
  deps: Pick<Dependencies, 'db' | 'clock'>,
  request: { organizationId: string; actor: string; days: number },
): Promise<void> {
  const { organizationId, actor, days } = request;
  if (!Number.isInteger(days) || days < 0 || days > maxFourEyesDays) {
    throw new ServiceError('validation_error', `days: must be a whole number from 0 to ${maxFourEyesDays}.`);
  }
  await deps.db.$transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    const { fourEyesDays: from } = await findOrganization(tx, organizationId);
    if (from === days) return;
    await tx.organization.update({ where: { id: organizationId }, data: { fourEyesDays: days } });
    const entry = { organizationId, actor, action: 'organization.four_eyes_days_set' } as const;
    await writeAudit(tx, { ...entry, target: organizationId, detail: { from, to: days } }, deps.clock.now());
  });
}
