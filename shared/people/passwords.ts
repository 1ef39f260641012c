import { hash, verify } from '@node-rs/argon2';
import type { PlatformDependencies } from '../platform/dependencies.ts';
import { ServiceError } from '../platform/errors.ts';
import type { HashingTurns } from './hashing-turns.ts';

/** What checking and changing passwords needs. */
export interface PasswordDependencies extends PlatformDependencies {
  /** Keeps the hashing of passwords within what a process can bear. */
  hashingTurns: HashingTurns;
}

/** argon2id, which is the library's default, at the cost that OWASP recommends: 19 MiB and two passes. */
const hashing = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** The hash of a password that nobody knows, at the same cost: checking it takes as long as checking a person's. */
const nobodysHash =
  '$argon2id$v=19$m=19456,t=2,p=1$gKlpZSH5nE9IVmgzlVqbVQ$BBczL2CEaa+XFpCADVrauXLVVdpjfsIKPL7+Q86sdZw';

/** How many characters a password may have. */
export const passwordLength = { min: 12, max: 128 };

/**
 * Whether a password will do.
 * @param field names it in the message.
 * @throws ServiceError validation_error for a bad length, or a password that is the e-mail address.
 */
export function checkNewPassword(email: string, password: string, field = 'password'): void {
  const { min, max } = passwordLength;
  if (password.length < min || password.length > max) {
    throw new ServiceError('validation_error', `${field}: has to be ${min} to ${max} characters.`);
  }
  if (password.trim().toLowerCase() === email.trim().toLowerCase()) {
    throw new ServiceError('validation_error', `${field}: must not be the e-mail address.`);
  }
}

/**
 * What is stored of a password, in argon2's own text format.
 * @throws ServiceError service_unavailable when too many are being hashed.
 */
export async function hashPassword(
  { hashingTurns }: Pick<PasswordDependencies, 'hashingTurns'>,
  password: string,
): Promise<string> {
  return await hashingTurns.take(() => hash(password, hashing));
}

/**
 * Whether a password is the one that was hashed. It takes as long when there is no hash, because there is no such person.
 * To be called within a hashing turn.
 */
export async function verifyPassword(passwordHash: string | null, password: string): Promise<boolean> {
  const isRight = await verify(passwordHash ?? nobodysHash, password);
  return isRight && passwordHash !== null;
}
