import { z } from 'zod';

/** E-mail addresses are compared without regard to case, and to blanks around them. */
export function normalizeEmail(email: string): string {
  return email.trim().toLowerCase();
}

/** True for a normalized text that can be an e-mail address. */
export function isEmail(email: string): boolean {
  return email.length <= 254 && z.email().safeParse(email).success;
}
