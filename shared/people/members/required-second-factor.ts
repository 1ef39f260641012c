import { actorOf } from '../../audit/actors.ts';
import { writeAudit } from '../../audit/audit-log.ts';
import type { Database, Stores } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { changeOrganization } from '../../platform/organization.ts';

/** Whether an organization requires a second factor, and how many members have none. */
export interface SecondFactorRule {
  isRequired: boolean;
  membersWithout: number;
}

/** Reads whether an organization requires a second factor. */
export async function readSecondFactorRule(db: Database, organizationId: string): Promise<SecondFactorRule> {
  const { requiresSecondFactor } = await db.organization.findUniqueOrThrow({ where: { id: organizationId } });
  const membersWithout = await db.membership.count({
    where: { organizationId, user: { secondFactor: null } },
  });
  return { isRequired: requiresSecondFactor, membersWithout };
}

/**
 * Makes an organization require a second factor of its members, or no longer; repeating it changes nothing.
 * @throws ServiceError validation_error when the acting user has none.
 */
export async function setSecondFactorRule(
  { db, clock }: Stores,
  request: { organizationId: string; acting: { userId: string }; isRequired: boolean },
): Promise<void> {
  const { organizationId, acting, isRequired } = request;
  const { userId } = acting;
  const now = clock.now();
  await changeOrganization(db, organizationId, async (tx) => {
    if (isRequired && (await tx.secondFactor.count({ where: { userId } })) === 0) {
      const message = 'Set up your own second factor first, under Your account.';
      throw new ServiceError('validation_error', message);
    }
    const { count } = await tx.organization.updateMany({
      where: { id: organizationId, requiresSecondFactor: !isRequired },
      data: { requiresSecondFactor: isRequired },
    });
    if (count === 0) return;
    const action = isRequired ? 'organization.second_factor_required' : 'organization.second_factor_optional';
    await writeAudit(tx, { organizationId, actor: actorOf({ userId }), action, target: organizationId }, now);
  });
}
