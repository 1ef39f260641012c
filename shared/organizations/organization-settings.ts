import { isDeepStrictEqual } from 'node:util';
import { type AuditAction, writeAudit } from '../audit/audit-log.ts';
import type { Organization, Stores } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { changeOrganization, findOrganization } from '../platform/organization.ts';

/** Accepted invitations are kept this long after they expire. */
export const maxFourEyesDays = 90;

/** Keys of metadata that an organization may name. */
export const maxRefundColumns = 3;

/** What a key of metadata may be, without what a list cannot show. */
const keyPattern = /^\P{C}{1,40}$/u;

interface Change {
  organizationId: string;
  actor: string;
}

/**
 * Sets how many days an accepted invitation keeps the inviter and the invited from approving each other's refunds. An unchanged
 * number is not written.
 * @param change.days 0 for no such rule.
 * @throws ServiceError validation_error for a number out of range; not_found for an unknown organization.
 */
export async function setFourEyesDays(
  deps: Stores,
  { days, ...change }: Change & { days: number },
): Promise<void> {
  if (!Number.isInteger(days) || days < 0 || days > maxFourEyesDays) {
    throw new ServiceError('validation_error', `days: must be a whole number from 0 to ${maxFourEyesDays}.`);
  }
  await changeSetting(deps, change, 'organization.four_eyes_days_set', 'fourEyesDays', days);
}

/** Sets whether refunds that a threshold lets pass ask for a confirmation once an hour. An unchanged setting is not written. */
export async function setHourlyConfirmation(
  deps: Stores,
  { isHourly, ...change }: Change & { isHourly: boolean },
): Promise<void> {
  await changeSetting(deps, change, 'organization.hourly_confirmation_set', 'confirmsHourly', isHourly);
}

/**
 * Sets which values of a refund's metadata the dashboard shows in lists of refunds. An unchanged setting is not written.
 * @param change.keys of the first level, in their order; none for the usual order and customer. Repeated ones count once.
 * @throws ServiceError validation_error for too many keys or an impossible one; not_found for an unknown organization.
 */
export async function setRefundColumns(
  deps: Stores,
  { keys: given, ...change }: Change & { keys: readonly string[] },
): Promise<void> {
  const keys = [...new Set(given)];
  if (keys.length > maxRefundColumns || !keys.every((key) => keyPattern.test(key))) {
    const problem = `keys: must be at most ${maxRefundColumns}, with 1 to 40 printable characters each.`;
    throw new ServiceError('validation_error', problem);
  }
  await changeSetting(deps, change, 'organization.refund_columns_set', 'refundColumns', keys);
}

async function changeSetting<Name extends 'fourEyesDays' | 'confirmsHourly' | 'refundColumns'>(
  { db, clock }: Stores,
  { organizationId, actor }: Change,
  action: AuditAction,
  name: Name,
  to: Organization[Name],
): Promise<void> {
  await changeOrganization(db, organizationId, async (tx) => {
    const { [name]: from } = await findOrganization(tx, organizationId);
    if (isDeepStrictEqual(from, to)) return;
    await tx.organization.update({ where: { id: organizationId }, data: { [name]: to } });
    const entry = { organizationId, actor, action, target: organizationId, detail: { from, to } };
    await writeAudit(tx, entry, clock.now());
  });
}
