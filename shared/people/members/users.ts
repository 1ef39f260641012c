import { writeAudit } from '../../audit/audit-log.ts';
import {
  type Database,
  type DatabaseTransaction,
  isUniqueViolation,
  type Role,
} from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { changeOrganization, findOrganization } from '../../platform/organization.ts';
import { byAddress, checkedEmail, normalizeEmail } from '../email.ts';
import type { HashingStores, HashLimiter } from '../sign-in/hash-limiter.ts';
import { checkNewPassword, hashPassword } from '../sign-in/passwords.ts';
import { refuseMember, revokeOpenInvitations } from './invitations.ts';

/** A user to be stored, with a normalized email address. */
export interface NewUser {
  id: string;
  email: string;
  passwordHash: string;
  /** The organization whose provider alone vouches for the address. */
  companyOf?: string;
}

/**
 * Validates the email address and hashes the password. Stores nothing.
 * @throws ServiceError validation_error for an invalid email address or password; service_unavailable.
 */
export async function prepareUser(
  deps: { hashLimiter: HashLimiter },
  person: { email: string; password: string; organizationName: string },
): Promise<NewUser> {
  const email = checkedEmail(person.email);
  await checkNewPassword({ email, organizationNames: [person.organizationName] }, person.password);
  const passwordHash = await hashPassword(deps, person.password, { lane: 'open', of: email });
  return { id: newId('usr'), email, passwordHash };
}

/**
 * Creates a user as a member of an organization.
 * @throws ServiceError validation_error for an invalid or taken email address, or an invalid password; not_found for the
 * organization; service_unavailable.
 */
export async function createUser(
  deps: HashingStores,
  request: { organizationId: string; email: string; password: string; role: Role; actor: string },
): Promise<{ id: string }> {
  const { organizationId, role, actor } = request;
  const organization = await findOrganization(deps.db, organizationId);
  const user = await prepareUser(deps, { ...request, organizationName: organization.name });
  const now = deps.clock.now();
  await refusingTakenEmail(() =>
    changeOrganization(deps.db, organizationId, (tx) =>
      insertUser(tx, user, { organizationId, role, actor }, now),
    ),
  );
  return { id: user.id };
}

/** Whether a user signs in with this email address and a password. It is not verified. */
export async function hasUser(db: Database, email: string): Promise<boolean> {
  return (await db.user.findUnique({ where: byAddress(normalizeEmail(email)) })) !== null;
}

/**
 * Finds a user of any organization by email address, for an operator.
 * @throws ServiceError not_found; validation_error for an address with several users, all but one created by a provider.
 */
export async function findUser(db: Database, email: string): Promise<{ userId: string; email: string }> {
  const [user, ...others] = await db.user.findMany({ where: { email: normalizeEmail(email) } });
  if (user === undefined) throw new ServiceError('not_found', 'User not found.');
  if (others.length > 0) {
    const message = 'email: belongs to several users. Choose one with --organization.';
    throw new ServiceError('validation_error', message);
  }
  return { userId: user.id, email: user.email };
}

/**
 * Stores a user, the membership and the audit entry. Open invitations of the address are revoked: accepted after a removal, one would undo it.
 * @throws ServiceError validation_error for the address of a member.
 */
export async function insertUser(
  tx: DatabaseTransaction,
  user: NewUser,
  membership: { organizationId: string; role: Role; actor: string },
  now: Date,
): Promise<void> {
  const { organizationId, role, actor } = membership;
  await refuseMember(tx, { organizationId, email: user.email });
  await tx.user.create({ data: { ...user, createdAt: now } });
  await tx.membership.create({ data: { organizationId, userId: user.id, role, createdAt: now } });
  await revokeOpenInvitations(tx, { organizationId, email: user.email }, actor, now);
  const entry = { organizationId, actor, action: 'user.created', target: user.id } as const;
  await writeAudit(tx, { ...entry, detail: { email: user.email, role } }, now);
}

/** Translates the unique violation of a taken email address to a validation_error. */
export async function refusingTakenEmail<T>(store: () => Promise<T>): Promise<T> {
  try {
    return await store();
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw takenEmail(error);
  }
}

/** The error for an email address that has a user already. */
export function takenEmail(cause?: unknown): ServiceError {
  const message =
    'This email address already has a user. Sign in with it. If it is not yours, ask the operator of this service to free it.';
  return new ServiceError('validation_error', message, { cause });
}
