import { maxFourEyesDays } from '../../organizations/four-eyes-days.ts';
import type { DatabaseTransaction } from '../../platform/database.ts';
import { beginErasure, erasedText } from '../../platform/erasure.ts';
import { openAt } from './invitations.ts';

/**
 * Deletes the invitations of an email address that are no longer open, and erases the address from the audit log. Invitations
 * accepted in the last 90 days stay, without the address: they still connect two people.
 * @returns the ids of the organizations that had the address; some may occur more than once.
 */
export async function eraseAddress(tx: DatabaseTransaction, email: string, now: Date): Promise<string[]> {
  await beginErasure(tx);
  const closed = { email, NOT: openAt(now) };
  const invited = await tx.invitation.findMany({ where: closed, select: { organizationId: true } });
  await tx.$executeRaw`
    UPDATE invitation SET email = ${erasedText}
    WHERE email = ${email} AND accepted_at > ${now}::timestamptz - make_interval(days => ${maxFourEyesDays})`;
  await tx.invitation.deleteMany({ where: closed });
  const mentioning = await tx.$queryRaw<{ organizationId: string }[]>`
    UPDATE audit_log SET detail = detail || jsonb_build_object('email', ${erasedText}::text)
    WHERE detail->>'email' = ${email} RETURNING organization_id AS "organizationId"`;
  return [...invited, ...mentioning].map(({ organizationId }) => organizationId);
}
