import { z } from 'zod';
import { ServiceError } from '../platform/errors.ts';

/** Email addresses are compared without regard to case and surrounding spaces. */
export function normalizeEmail(email: string): string {
  return email.trim().toLowerCase();
}

/** The key of the user who signs in with this address and a password. Users whom a provider created have other keys. */
export function byAddress(email: string) {
  return { email_companyOf: { email, companyOf: '' } } as const;
}

/** Whether a text without surrounding spaces is a valid email address. */
export function isEmail(email: string): boolean {
  return email.length <= 254 && z.email().safeParse(email).success;
}

/**
 * Normalizes an email address.
 * @throws ServiceError validation_error for an invalid address.
 */
export function checkedEmail(text: string): string {
  // Before it is normalized: the lower case of the Kelvin sign is a k, which would make it another person's address.
  if (isEmail(text.trim())) return normalizeEmail(text);
  throw new ServiceError('validation_error', 'email: must be a valid email address.');
}
