import { actorOf } from '../../audit/actors.ts';
import { auditEverywhere } from '../../audit/audit-log.ts';
import type { DatabaseTransaction, Stores } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { lockOrganization } from '../../platform/organization.ts';
import { endPendingDeliveries } from '../../webhooks/deliveries.ts';
import { endSessionsOf } from '../sign-in/sessions.ts';
import { type Created, endCreated } from './end-created.ts';
import { revokeOpenInvitations } from './invitations.ts';
import { requireAnotherOwner } from './members.ts';

/** A change of a user by an operator. */
export interface UserChange {
  userId: string;
  actor: string;
}

/**
 * Keeps a user from signing in, in every organization, ends all sessions and revokes the invitations that the user made.
 * @param request.revokesKeys whether to revoke the user's API keys as well, and to disable the webhook endpoints that they created.
 * @returns what the user created: what has ended, and what goes on.
 * @throws ServiceError validation_error for the last owner of an organization, or a user who is disabled.
 */
export async function disableUser(
  deps: Stores,
  { userId, actor, revokesKeys }: UserChange & { revokesKeys: boolean },
): Promise<{ ended: Created; remaining: Created }> {
  const now = deps.clock.now();
  const created = await deps.db.$transaction(async (tx) => {
    await lockOrganizationsOf(tx, userId);
    const { count } = await tx.user.updateMany({
      where: { id: userId, disabledAt: null },
      data: { disabledAt: now },
    });
    if (count === 0) throw new ServiceError('validation_error', 'This user is already disabled.');
    await endAccess(tx, { userId, actor }, now);
    await auditEverywhere(tx, { userId, actor, action: 'user.disabled' }, now);
    return await endCreated(tx, { userId, isKept: () => !revokesKeys, actor }, now);
  });
  for (const { id } of created.ended.endpoints) await endPendingDeliveries(deps.db, id);
  return created;
}

/**
 * Lets a disabled user sign in again.
 * @throws ServiceError validation_error for a user who is not disabled.
 */
export async function enableUser(deps: Stores, { userId, actor }: UserChange): Promise<void> {
  await deps.db.$transaction(async (tx) => {
    const { count } = await tx.user.updateMany({
      where: { id: userId, disabledAt: { not: null } },
      data: { disabledAt: null },
    });
    if (count === 0) throw new ServiceError('validation_error', 'This user is not disabled.');
    await auditEverywhere(tx, { userId, actor, action: 'user.enabled' }, deps.clock.now());
  });
}

/**
 * Ends the sessions of a user and revokes the invitations that the user made. Call it with the user's row locked, so that no
 * session starts meanwhile. Locks the organizations of the user and of the user's API keys until the transaction ends.
 * @returns the ids of the user's organizations.
 * @throws ServiceError validation_error for the last owner of an organization.
 */
export async function endAccess(
  tx: DatabaseTransaction,
  { userId, actor }: UserChange,
  now: Date,
): Promise<string[]> {
  // Without a session the user cannot join another organization.
  await endSessionsOf(tx, userId, null);
  const where = { userId };
  const joined = await tx.membership.findMany({ where, orderBy: { organizationId: 'asc' } });
  const organizationIds = joined.map(({ organizationId }) => organizationId);
  // Again: the user may have joined an organization before the user's row was locked.
  await lockOrganizationsOf(tx, userId);
  const owned = await tx.membership.findMany({ where: { ...where, role: 'owner' } });
  for (const { organizationId } of owned) await requireAnotherOwner(tx, organizationId, userId);
  const invitedBy = actorOf({ userId });
  for (const organizationId of organizationIds) {
    await revokeOpenInvitations(tx, { organizationId, invitedBy }, actor, now);
  }
  return organizationIds;
}

/**
 * Locks the organizations of a user and of the user's API keys until the transaction ends. Call it before the user's row is
 * locked, as the acceptance of an invitation does, so that neither waits for the other.
 */
export async function lockOrganizationsOf(tx: DatabaseTransaction, userId: string): Promise<void> {
  const joined = await tx.membership.findMany({ where: { userId }, select: { organizationId: true } });
  // Keys also exist in organizations that the user has left. Keys created with them are in the same organization.
  const ofKeys = await tx.apiKey.groupBy({
    by: ['organizationId'],
    where: { createdBy: actorOf({ userId }) },
  });
  const ids = new Set([...joined, ...ofKeys].map(({ organizationId }) => organizationId));
  for (const id of [...ids].toSorted()) await lockOrganization(tx, id);
}
