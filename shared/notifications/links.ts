import { randomBytes } from 'node:crypto';
import { type Database, type DatabaseTransaction, Prisma } from '../platform/database.ts';
import { sha256 } from '../platform/secrets/secrets.ts';
import type { LinkKind } from './kinds.ts';

/** From the moment at which the mail is first sent. That of an invitation is checked with the invitation as well. */
const lifeMs: Readonly<Record<LinkKind, number>> = {
  invitation: 7 * 24 * 60 * 60 * 1000,
  password_reset: 60 * 60 * 1000,
};

/** The prefixes let logs recognize and mask a token. */
const prefixes: Readonly<Record<LinkKind, string>> = { invitation: 'invite', password_reset: 'reset' };

/** Notes that an invitation is to be mailed, in the transaction that stores it. */
export async function noteInvitation(
  tx: DatabaseTransaction,
  { id, organizationId }: { id: string; organizationId: string },
): Promise<void> {
  await tx.$executeRaw`
    INSERT INTO notification (id, kind, target, since, recipient, organization_id, due_at, created_at)
    SELECT new_type_id('ntf', moment), 'invitation', ${id}, moment, ${id}, ${organizationId}, moment, moment
    FROM (SELECT service_time() AS moment) AS clock`;
}

/** Whether a user `u` may set a new password by a link: neither a disabled one nor one with a company account of an enabled provider. */
export const mayResetPassword = Prisma.sql`(
  u.company_of = '' AND u.disabled_at IS NULL AND NOT EXISTS (
    SELECT FROM company_account AS a JOIN identity_provider AS p USING (organization_id, issuer)
    WHERE a.user_id = u.id AND p.disabled_at IS NULL))`;

/**
 * Stores that a link to set a new password is to be mailed. For an address without a user who may, a row without a recipient is
 * stored, so that every request costs the same.
 */
export async function notePasswordReset(db: Database, email: string): Promise<void> {
  await db.$executeRaw`
    INSERT INTO notification (id, kind, target, since, recipient, due_at, created_at)
    SELECT new_type_id('ntf', moment), 'password_reset', recipient, moment, recipient, moment, moment
    FROM (
      SELECT service_time() AS moment, coalesce((
        SELECT u.id FROM "user" AS u WHERE u.email = ${email} AND ${mayResetPassword}), 'none') AS recipient) AS noted
    ON CONFLICT DO NOTHING`;
}

/**
 * Makes the token of a link as it is mailed; only its hash is stored. The tokens of earlier attempts stay valid, because their mails may
 * have arrived.
 * @param link.target the id of an invitation, or of the user whose password is reset.
 */
export async function newLinkToken(
  db: Database,
  { kind, target }: { kind: LinkKind; target: string },
): Promise<string> {
  const token = `${prefixes[kind]}_${randomBytes(32).toString('base64url')}`;
  await db.$executeRaw`
    INSERT INTO mailed_link (token_hash, target, expires_at)
    VALUES (${sha256(token)}, ${target}, service_time() + ${lifeMs[kind]} * interval '1 millisecond')`;
  return token;
}

/** The id of what a mailed link opens; null when it is unknown, used or expired. */
export async function targetOfLink(
  db: Database | DatabaseTransaction,
  token: string,
  now: Date,
): Promise<string | null> {
  const where = { tokenHash: sha256(token), expiresAt: { gt: now } };
  return (await db.mailedLink.findUnique({ where }))?.target ?? null;
}

/** Ends all mailed links to something. */
export async function endLinks(tx: DatabaseTransaction, target: string): Promise<void> {
  await tx.mailedLink.deleteMany({ where: { target } });
}
