import { actorOf } from '../../audit/actors.ts';
import { writeAudit } from '../../audit/audit-log.ts';
import type { DatabaseTransaction, IdentityProvider, Role, Stores } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import { changeOrganization } from '../../platform/organization.ts';
import { isEmail, normalizeEmail } from '../email.ts';
import { replaceCredentials } from '../members/accept-invitation.ts';
import { applyRole, hasAnotherOwner, insertMembership, readMember } from '../members/members.ts';
import { insertUser } from '../members/users.ts';
import { hashOfNoPassword } from '../sign-in/passwords.ts';
import { currentProof, type Proof } from '../sign-in/sessions.ts';
import { addressIn, type Claims, hasTooManyGroups, roleOf } from './claims.ts';
import { findProvider } from './provider.ts';
import { SignInRefusal } from './refusal.ts';

/** A sign-in that the organization's provider has verified. */
interface VerifiedSignIn {
  organizationId: string;
  issuer: string;
  claims: Claims;
  /** Whether the provider has said that the person has just signed in. */
  isRecent: boolean;
}

/**
 * Creates or updates the member whom an organization's provider has just signed in. The member is found by issuer and subject;
 * at first by a verified email address. A user of another organization is never linked, because the provider's
 * administrator would gain access there: a user is made beside it, who has the address in this organization alone.
 * @returns proof for a session.
 * @throws SignInRefusal when the claims give no role, the address is not verified or is that of a member who also
 * belongs to another organization, or the user is disabled.
 */
export async function joinByCompany(deps: Stores, signIn: VerifiedSignIn): Promise<Proof> {
  try {
    return await join(deps, signIn);
  } catch (error) {
    if (error instanceof SignInRefusal) error.subject = signIn.claims.sub;
    throw error;
  }
}

async function join(
  { db, clock }: Stores,
  { organizationId, issuer, claims, isRecent }: VerifiedSignIn,
): Promise<Proof> {
  // As OpenID Connect limits it.
  if (!/^[\x20-\x7e]{1,255}$/.test(claims.sub)) throw new SignInRefusal('no_subject');
  const account = { organizationId, issuer, subject: claims.sub };
  const now = clock.now();
  return await changeOrganization(db, organizationId, async (tx) => {
    const provider = await findProvider(tx, organizationId);
    if (provider?.issuer !== issuer) throw new SignInRefusal('settings_changed');
    const known = await tx.companyAccount.findUnique({
      where: { organizationId_issuer_subject: account },
      include: { membership: { include: { user: true } } },
    });
    const role = roleFor(provider, claims, known?.membership.role);
    if (known !== null && known.membership.user.disabledAt !== null) {
      throw new SignInRefusal('address_unusable');
    }
    const userId =
      known?.userId ?? (await link(tx, { account, email: emailIn(provider, claims), role }, now));
    await followRole(tx, { provider, userId, role }, now);
    if (isRecent && !provider.tellsSignInTime) {
      await tx.identityProvider.update({ where: { organizationId }, data: { tellsSignInTime: true } });
    }
    return { ...(await currentProof(tx, userId)), companyOf: organizationId };
  });
}

/** @param current the role that the member has, which stays when the provider leaves out the groups because they are too many. */
function roleFor(provider: IdentityProvider, claims: Claims, current: Role | undefined): Role {
  if (hasTooManyGroups(provider, claims)) {
    if (current === undefined) throw new SignInRefusal('too_many_groups');
    return current;
  }
  const role = roleOf(provider, claims);
  if (role === null) throw new SignInRefusal('no_role');
  return role;
}

function emailIn(provider: IdentityProvider, claims: Claims): string {
  const address = addressIn(provider, claims);
  if ('cause' in address) throw new SignInRefusal(address.cause);
  // Before it is normalized: the lower case of the Kelvin sign is a k, which would make it another person's address.
  if (!isEmail(address.email.trim())) throw new SignInRefusal('no_email');
  return normalizeEmail(address.email);
}

interface Link {
  account: { organizationId: string; issuer: string; subject: string };
  email: string;
  role: Role;
}

async function link(tx: DatabaseTransaction, { account, email, role }: Link, now: Date): Promise<string> {
  const { organizationId } = account;
  const userId = await memberOf(tx, { organizationId, email, role }, now);
  await tx.companyAccount.create({ data: { ...account, userId, createdAt: now } });
  const entry = {
    organizationId,
    actor: actorOf({ userId }),
    action: 'member.linked',
    target: userId,
  } as const;
  await writeAudit(tx, { ...entry, detail: { issuer: account.issuer } }, now);
  return userId;
}

/**
 * The member with the address. Without one, a user with it who belongs to no organization becomes the member, first the one whom this
 * provider made; else a new user. No one knows the password from then on, unless the member is an owner already. The lock keeps the
 * user from joining another organization meanwhile.
 */
async function memberOf(
  tx: DatabaseTransaction,
  { organizationId, email, role }: { organizationId: string; email: string; role: Role },
  now: Date,
): Promise<string> {
  await tx.$queryRaw`SELECT 1 FROM "user" WHERE email = ${email} FOR UPDATE`;
  const users = await tx.user.findMany({
    where: { email, companyOf: { in: ['', organizationId] } },
    include: { memberships: true },
    orderBy: { companyOf: 'desc' },
  });
  const isMember = ({ memberships }: (typeof users)[number]) =>
    memberships.some((membership) => membership.organizationId === organizationId);
  // The user of another organization stays as it is, or its admins could keep people out by inviting their addresses.
  const found =
    users.find(isMember) ??
    users.find(({ memberships, disabledAt }) => memberships.length === 0 || disabledAt !== null);
  const passwordHash = hashOfNoPassword();
  if (found === undefined) {
    const user = { id: newId('usr'), email, passwordHash, companyOf: organizationId };
    await insertUser(tx, user, { organizationId, role, actor: actorOf({ userId: user.id }) }, now);
    return user.id;
  }
  const { id: userId, disabledAt, memberships } = found;
  const elsewhere = memberships.some((membership) => membership.organizationId !== organizationId);
  if (elsewhere || disabledAt !== null) throw new SignInRefusal('address_unusable');
  const [membership] = memberships;
  // Who invited the address may have set the password. Only owners invite owners, who keep theirs in case the provider fails.
  if (membership?.role === 'owner') return userId;
  const companyOf = membership === undefined ? organizationId : found.companyOf;
  await replaceCredentials(tx, userId, { passwordHash, companyOf });
  if (membership === undefined)
    await insertMembership(tx, { organizationId, userId, email, role, actor: actorOf({ userId }) }, now);
  return userId;
}

/** The last owner stays one: an organization always keeps an owner. */
async function followRole(
  tx: DatabaseTransaction,
  { provider, userId, role: to }: { provider: IdentityProvider; userId: string; role: Role },
  now: Date,
): Promise<void> {
  const { organizationId } = provider;
  const { role: from, email } = await readMember(tx, organizationId, userId);
  const isLastOwner =
    from === 'owner' && to !== 'owner' && !(await hasAnotherOwner(tx, organizationId, userId));
  if (from !== to && !isLastOwner) {
    await applyRole(tx, { organizationId, userId, email, from, to, actor: actorOf({ userId }) }, now);
  }
  if (to !== 'owner' && !isLastOwner) return;
  await tx.identityProvider.update({ where: { organizationId }, data: { ownerSignedInAt: now } });
}
