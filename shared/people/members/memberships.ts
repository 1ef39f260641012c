import { roles } from '../../access/roles.ts';
import { type Database, type DatabaseTransaction, Prisma, type Role } from '../../platform/database.ts';

// What a session may open: the organizations of its user, and what it lacks there.

/** A user's membership of one organization. */
export interface Membership {
  organizationName: string;
  /** The metadata that its lists of refunds show; see `setRefundColumns`. */
  refundColumns: string[];
  /** See `setHourlyConfirmation`. */
  confirmsHourly: boolean;
  role: Role;
  /** Whether the organization requires a second factor and the user has none. */
  lacksSecondFactor: boolean;
  /** Whether the organization requires a sign-in with its provider and the session began otherwise. Never of an owner. */
  needsCompanySignIn: boolean;
}

/** A user's organizations, by name, with the kinds of notifications that the user gets no mails about. */
export async function organizationsOf(
  db: Database,
  userId: string,
): Promise<{ id: string; name: string; role: Role; declinedMails: string[] }[]> {
  const memberships = await db.membership.findMany({
    where: { userId },
    select: { role: true, declinedMails: true, organization: { select: { id: true, name: true } } },
    orderBy: [{ organization: { name: 'asc' } }, { organizationId: 'asc' }],
  });
  return memberships.map(({ organization, ...membership }) => ({ ...organization, ...membership }));
}

/**
 * A user's role, the organization's name, and whether the user lacks what it requires, in one query; null for a user who is not a
 * member.
 * @param companyOf the organization whose provider signed the user in: it answers for the second factor, and for this organization alone.
 */
export async function findMembership(
  db: Database,
  userId: string,
  organizationId: string,
  companyOf: string | null = null,
): Promise<Membership | null> {
  const { isVouchedFor, needsCompanySignIn, lacksSecondFactor } = standingSql(userId, companyOf);
  const [row] = await db.$queryRaw<Membership[]>`
    SELECT organization.name AS "organizationName", organization.refund_columns AS "refundColumns",
      organization.confirms_hourly AS "confirmsHourly", membership.role::text AS role,
      ${needsCompanySignIn} AS "needsCompanySignIn", ${lacksSecondFactor} AS "lacksSecondFactor"
    FROM membership JOIN organization ON organization.id = membership.organization_id
    WHERE membership.user_id = ${userId} AND membership.organization_id = ${organizationId} AND ${isVouchedFor}`;
  return row ?? null;
}

/**
 * Whether the sign-in of a session counts in the organization of the rows `organization` and `membership`, and what it lacks there. That
 * with a company's provider counts there alone, and until the provider is replaced or disabled, or the membership by it has ended.
 */
function standingSql(userId: string, companyOf: string | null) {
  const isOtherwise = Prisma.sql`organization.id IS DISTINCT FROM ${companyOf}::text`;
  return {
    isVouchedFor: Prisma.sql`(${companyOf}::text IS NULL OR organization.id = ${companyOf}::text AND EXISTS (
      SELECT 1 FROM identity_provider AS provider JOIN company_account AS account
        ON account.organization_id = provider.organization_id AND account.issuer = provider.issuer
      WHERE provider.organization_id = organization.id AND provider.disabled_at IS NULL AND account.user_id = ${userId}))`,
    needsCompanySignIn: Prisma.sql`(${isOtherwise} AND membership.role <> 'owner' AND EXISTS (
      SELECT 1 FROM identity_provider AS provider
      WHERE provider.organization_id = organization.id AND provider.is_enforced))`,
    lacksSecondFactor: Prisma.sql`(${isOtherwise} AND organization.requires_second_factor
      AND NOT EXISTS (SELECT 1 FROM second_factor WHERE second_factor.user_id = ${userId}))`,
  };
}

/**
 * The weakest role of a user across all organizations of the installation; null when one of them lacks the user, or the
 * user the second factor or the sign-in with its provider that it requires.
 * @param companyOf the organization whose provider signed the user in.
 */
export async function leastRoleInAll(
  db: DatabaseTransaction,
  userId: string,
  companyOf: string | null = null,
): Promise<Role | null> {
  const { isVouchedFor, needsCompanySignIn, lacksSecondFactor } = standingSql(userId, companyOf);
  const [row] = await db.$queryRaw<{ isMissing: boolean; roles: Role[] }[]>`
    SELECT bool_or(
        membership.role IS NULL OR NOT ${isVouchedFor} OR ${needsCompanySignIn} OR ${lacksSecondFactor}) AS "isMissing",
      array_agg(DISTINCT membership.role::text) FILTER (WHERE membership.role IS NOT NULL) AS roles
    FROM organization LEFT JOIN membership
      ON membership.organization_id = organization.id AND membership.user_id = ${userId}`;
  if (row === undefined || row.isMissing !== false) return null;
  return roles.findLast((role) => row.roles.includes(role)) ?? null;
}
