import type { CreatedKey } from '../../organizations/created-keys.ts';
import { writeAudits } from '../../platform/audit-log.ts';
import type { DatabaseTransaction } from '../../platform/database.ts';
import type { PlatformDependencies } from '../../platform/dependencies.ts';
import { announceErasure, erasedText, erasureTimeoutMs } from '../../platform/erasure.ts';
import { ServiceError } from '../../platform/errors.ts';
import { normalizeEmail } from '../email.ts';
import { endAccess, revokeOrListKeys } from './disable-user.ts';
import { openAt } from './invitations.ts';

/** What a deletion did. */
export interface Deletion {
  /** Null when no user had the address. */
  userId: string | null;
  /** False when only open invitations had the address. */
  isErased: boolean;
  /** The API keys that the user created and that were, or could be, revoked. */
  keys: CreatedKey[];
  /** Open invitations of the address, which stay: they may be for the person whose address it is. */
  openInvitations: { id: string; organizationId: string }[];
}

/**
 * Deletes the user of an email address with memberships, sessions and everything else that belongs to the user, deletes the
 * invitations of the address that are no longer open, and erases the address from the audit log. The user's id stays in
 * timelines and the audit log.
 * @throws ServiceError not_found when nothing is stored about the address; validation_error for the last owner of an
 * organization.
 */
export async function deleteUser(
  deps: Pick<PlatformDependencies, 'db' | 'clock'>,
  request: { email: string; actor: string; revokesKeys: boolean },
): Promise<Deletion> {
  const email = normalizeEmail(request.email);
  const { actor, revokesKeys } = request;
  const now = deps.clock.now();
  const work = async (tx: DatabaseTransaction): Promise<Deletion> => {
    const [user] = await tx.$queryRaw<{ id: string }[]>`
      SELECT id FROM "user" WHERE email = ${email} FOR NO KEY UPDATE`;
    const userId = user?.id ?? null;
    const joined = userId === null ? [] : await endAccess(tx, { userId, actor }, now);
    const keys = userId === null ? [] : await revokeOrListKeys(tx, { userId, actor, revokesKeys }, now);
    if (userId !== null) {
      await tx.membership.deleteMany({ where: { userId } });
      await tx.user.delete({ where: { id: userId } });
    }
    const mentioning = await eraseAddress(tx, email, now);
    const openInvitations = await tx.invitation.findMany({
      where: { email },
      select: { id: true, organizationId: true },
    });
    const concerned = [...new Set([...joined, ...mentioning])];
    if (userId === null && concerned.length + openInvitations.length === 0) {
      throw new ServiceError('not_found', 'Nothing is stored about this address.');
    }
    const entry = { actor, action: 'user.deleted', target: userId ?? erasedText } as const;
    await writeAudits(
      tx,
      concerned.map((organizationId) => ({ organizationId, ...entry })),
      now,
    );
    return { userId, isErased: concerned.length > 0, keys, openInvitations };
  };
  return await deps.db.$transaction(work, { timeout: erasureTimeoutMs });
}

/** @returns the ids of the organizations that had the address. */
async function eraseAddress(tx: DatabaseTransaction, email: string, now: Date): Promise<string[]> {
  const closed = { email, NOT: openAt(now) };
  const invited = await tx.invitation.findMany({ where: closed, select: { organizationId: true } });
  await tx.invitation.deleteMany({ where: closed });
  await announceErasure(tx);
  const mentioning = invited.map(({ organizationId }) => organizationId);
  // Organization by organization, because the index of the audit log begins with it.
  for (const { id } of await tx.organization.findMany({ select: { id: true } })) {
    const count = await tx.$executeRaw`
      UPDATE audit_log SET detail = detail || jsonb_build_object('email', ${erasedText}::text)
      WHERE organization_id = ${id} AND detail->>'email' = ${email}`;
    if (count > 0) mentioning.push(id);
  }
  return mentioning;
}
