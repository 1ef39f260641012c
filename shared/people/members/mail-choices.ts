import { actorOf } from '../../audit/actors.ts';
import { writeAudit } from '../../audit/audit-log.ts';
import { kindsByRole, type NotificationKind } from '../../notifications/kinds.ts';
import type { Stores } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { lockOwnSession } from '../sign-in/sessions.ts';

/** A member's choice of the kinds of notifications to get by mail from an organization. */
interface MailChoice {
  userId: string;
  sid: string;
  organizationId: string;
  kinds: readonly NotificationKind[];
}

/**
 * Stores which kinds of the member's role are not mailed, so that a kind that comes with another role is. Notifications that were noted
 * before are still mailed.
 * @throws ServiceError not_found for a former member; insufficient_scope when the session has ended.
 */
export async function chooseMails(
  { db, clock }: Stores,
  { userId, sid, organizationId, kinds }: MailChoice,
): Promise<void> {
  const now = clock.now();
  const where = { organizationId_userId: { organizationId, userId } };
  await db.$transaction(async (tx) => {
    await lockOwnSession(tx, { userId, sid, now });
    const membership = await tx.membership.findUnique({ where });
    if (membership === null) throw new ServiceError('not_found', 'Organization not found.');
    const declinedMails = kindsByRole[membership.role].filter((kind) => !kinds.includes(kind));
    await tx.membership.update({ where, data: { declinedMails } });
    const entry = { organizationId, actor: actorOf({ userId }), target: userId };
    const detail = { declined: declinedMails.join(', ') || 'none' };
    await writeAudit(tx, { ...entry, action: 'member.mails_chosen', detail }, now);
  });
}
