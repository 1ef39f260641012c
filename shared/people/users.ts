import { writeAudit } from '../platform/audit-log.ts';
import {
  type Database,
  type DatabaseTransaction,
  isUniqueViolation,
  type Role,
} from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { lockOrganization } from '../platform/organization.ts';
import { checkedEmail, normalizeEmail } from './email.ts';
import { revokeOpenInvitations } from './invitations.ts';
import { checkNewPassword, hashPassword, type PasswordDependencies } from './passwords.ts';

/** A person who can sign in, as the row is made: the address is normalized. */
export interface NewUser {
  id: string;
  email: string;
  passwordHash: string;
}

/**
 * Makes a row of what a person has given, and hashes the password; nothing is stored yet.
 * @throws ServiceError validation_error for an address that is not one, or a password that will not do;
 * service_unavailable when too many passwords are being hashed.
 */
export async function prepareUser(
  deps: Pick<PasswordDependencies, 'hashingTurns'>,
  person: { email: string; password: string },
): Promise<NewUser> {
  const email = checkedEmail(person.email);
  checkNewPassword(email, person.password);
  return { id: newId('usr'), email, passwordHash: await hashPassword(deps, person.password) };
}

/**
 * Creates a person who may sign in, as a member of an organization. Open invitations of the address there end.
 * @throws ServiceError validation_error for an address that is not one or is taken, or a password that will not do;
 * not_found for the organization.
 */
export async function createUser(
  deps: Pick<PasswordDependencies, 'db' | 'clock' | 'hashingTurns'>,
  request: { organizationId: string; email: string; password: string; role: Role; actor: string },
): Promise<{ id: string }> {
  const { organizationId, role, actor } = request;
  const user = await prepareUser(deps, request);
  const now = deps.clock.now();
  await refusingTakenEmail(() =>
    deps.db.$transaction(async (tx) => {
      await lockOrganization(tx, organizationId);
      await insertUser(tx, user, { organizationId, role, actor }, now);
      // The person has become a member in another way.
      await revokeOpenInvitations(tx, { organizationId, email: user.email }, actor, now);
    }),
  );
  return { id: user.id };
}

/** True when somebody has signed up with this address; whether it is really theirs, nobody has looked. */
export async function hasUser(db: Database, email: string): Promise<boolean> {
  return (await db.user.count({ where: { email: normalizeEmail(email) } })) > 0;
}

/** Stores a person and the membership, with the entry in the audit log. */
export async function insertUser(
  tx: DatabaseTransaction,
  user: NewUser,
  membership: { organizationId: string; role: Role; actor: string },
  now: Date,
): Promise<void> {
  const { organizationId, role, actor } = membership;
  await tx.user.create({ data: { ...user, createdAt: now } });
  await tx.membership.create({ data: { organizationId, userId: user.id, role, createdAt: now } });
  const entry = { organizationId, actor, action: 'user.created', target: user.id } as const;
  await writeAudit(tx, { ...entry, detail: { email: user.email, role } }, now);
}

/** Turns the database's refusal of a second user with the same address into words. */
export async function refusingTakenEmail<T>(store: () => Promise<T>): Promise<T> {
  try {
    return await store();
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new ServiceError('validation_error', 'email: this address has a user already.', { cause: error });
  }
}
