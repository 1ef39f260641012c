import type { DatabaseTransaction, Role } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { managedRoles } from './roles.ts';

/** Who changes something: a person, who may do what the own role allows, or the administration of the machine. */
export type Acting = { userId: string } | { administration: string };

/** As it stands in timelines and the audit log. */
export function actorOf(acting: Acting): string {
  return 'userId' in acting ? `user:${acting.userId}` : acting.administration;
}

/** Somebody's role as it is now, or null for who is no member. */
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
 * Holds that the acting person manages each of these roles, by the role that the person has at this moment. To be called
 * in the transaction that carries the act out, with the organization locked.
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
    ? 'Only owners make, change and invite owners. Ask an owner.'
    : 'Only owners and admins manage members. Ask one of them.';
  throw new ServiceError('insufficient_scope', message);
}
