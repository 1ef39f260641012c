import { hash } from '@node-rs/argon2';
import { z } from 'zod';
import { writeAudit } from '../audit-log.ts';
import { isUniqueViolation, type Role } from '../db.ts';
import type { Dependencies } from '../dependencies.ts';
import { ServiceError } from '../errors.ts';
import { newId } from '../ids.ts';
import { findOrganization } from './find-organization.ts';

/** argon2id, which is the library's default, at the cost that OWASP recommends: 19 MiB and two passes. */
const hashing = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

const passwordLength = { min: 12, max: 128 };

/** E-mail addresses are compared without regard to case. */
function normalizeEmail(email: string): string {
  return email.trim().toLowerCase();
}

/**
 * Creates a person who may sign in, as a member of an organization.
 * @throws ServiceError validation_error for an address that is not one or is taken, or a password of a bad length;
 * not_found for the organization.
 */
export async function createUser(
  deps: Pick<Dependencies, 'db' | 'clock'>,
  request: { organizationId: string; email: string; password: string; role: Role; actor: string },
): Promise<{ id: string }> {
  const { organizationId, password, role, actor } = request;
  const email = normalizeEmail(request.email);
  checkSignIn(email, password);
  const passwordHash = await hash(password, hashing);
  const id = newId('usr');
  const now = deps.clock.now();
  try {
    await deps.db.$transaction(async (tx) => {
      await findOrganization(tx, organizationId);
      await tx.user.create({ data: { id, email, passwordHash, createdAt: now } });
      await tx.membership.create({ data: { organizationId, userId: id, role, createdAt: now } });
      const entry = { organizationId, actor, action: 'user.created', target: id };
      await writeAudit(tx, { ...entry, detail: { email, role } }, now);
    });
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new ServiceError('validation_error', 'email: this address has a user already.', { cause: error });
  }
  return { id };
}

function checkSignIn(email: string, password: string): void {
  if (email.length > 254 || !z.email().safeParse(email).success) {
    throw new ServiceError('validation_error', 'email: not an e-mail address.');
  }
  const { min, max } = passwordLength;
  if (password.length < min || password.length > max) {
    throw new ServiceError('validation_error', `password: has to be ${min} to ${max} characters.`);
  }
}
