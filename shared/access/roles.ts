import type { Acting } from '../audit/actors.ts';
import type { DatabaseTransaction, Role } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';

/** Every role, the most powerful first. */
export const roles = ['owner', 'admin', 'operator', 'viewer'] as const satisfies readonly Role[];

const managed: Readonly<Record<Role, readonly Role[]>> = {
  owner: roles,
  admin: ['admin', 'operator', 'viewer'],
  operator: [],
  viewer: [],
};

/** The roles that a member with this role may grant and revoke. */
export function managedRoles(acting: Role): readonly Role[] {
  return managed[acting];
}

/** Whether `role` includes everything that `required` may do. */
export function mayAct(role: Role, required: Role): boolean {
  return roles.indexOf(role) <= roles.indexOf(required);
}

/** A user's current role in an organization; null for a user who is not a member. */
export async function readRole(
  tx: DatabaseTransaction,
  organizationId: string,
  userId: string,
): Promise<Role | null> {
  const where = { organizationId_userId: { organizationId, userId } };
  const membership = await tx.membership.findUnique({ where, select: { role: true } });
  return membership?.role ?? null;
}

/**
 * Checks that the actor may manage each of these roles, by the role that the actor has now. Call it inside the
 * transaction that makes the change, with the organization locked.
 * @throws ServiceError insufficient_scope.
 */
export async function requireManaging(
  tx: DatabaseTransaction,
  organizationId: string,
  acting: Acting,
  managed: readonly Role[],
): Promise<void> {
  if ('administration' in acting) return;
  const role = await readRole(tx, organizationId, acting.userId);
  const mayManage = role === null ? [] : managedRoles(role);
  if (managed.every((each) => mayManage.includes(each))) return;
  const message = mayManage.includes('admin')
    ? 'Only owners can invite, change or remove owners. Ask an owner.'
    : 'Only owners and admins can manage members. Ask an owner or admin.';
  throw new ServiceError('insufficient_scope', message);
}
