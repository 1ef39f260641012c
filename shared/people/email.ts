import { z } from 'zod';
import { ServiceError } from '../platform/errors.ts';

/** E-mail addresses are compared without regard to case, and to blanks around them. */
export function normalizeEmail(email: string): string {
  return email.trim().toLowerCase();
}

/** True for a normalized text that can be an e-mail address. */
export function isEmail(email: string): boolean {
  return email.length <= 254 && z.email().safeParse(email).success;
}

/**
 * The normalized address.
 * @throws ServiceError validation_error for what is not an address.
 */
export function checkedEmail(text: string): string {
  const email = normalizeEmail(text);
  if (!isEmail(email)) throw new ServiceError('validation_error', 'email: not an e-mail address.');
  return email;
}
