import { Secret, TOTP } from 'otpauth';
import { expect } from 'vitest';
import type { Clock } from '#shared/platform/clock.ts';
import type { DashboardVisitor, Page } from './dashboard-visitor.ts';

export const secondFactorPath = '/dashboard/you/second-factor';

/** What a person has to show a second factor. */
export interface Authenticator {
  secret: string;
  recoveryCodes: string[];
  /** The code that the app shows. @param driftMs by how much its clock is ahead. */
  code(driftMs?: number): string;
}

/** The code of an authenticator app at a time. */
export function codeAt(secret: string, at: Date, driftMs = 0): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: at.getTime() + driftMs });
}

/** The secret on a set-up page, and the field that the form returns. */
export function setUpOf({ text }: Page): { secret: string; field: string } {
  const [, secret = ''] = /<code>([A-Z2-7]{32})<\/code>/.exec(text) ?? [];
  return { secret, field: hiddenField(text, 'secret') };
}

export function hiddenField(page: string, name: string): string {
  return new RegExp(`type="hidden" name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? '';
}

/** The recovery codes that a page shows. */
export function recoveryCodesOf({ text }: Page): string[] {
  return text.match(/\b(?:[A-Z2-7]{4}-){3}[A-Z2-7]{4}\b/g)?.slice(0, 10) ?? [];
}

/** Sets up a second factor through the pages; the visitor has read a CSRF token. */
export async function setUpSecondFactor(visitor: DashboardVisitor, clock: Clock): Promise<Authenticator> {
  const { secret, field } = setUpOf(await visitor.post(secondFactorPath));
  const page = await visitor.post(`${secondFactorPath}/enable`, {
    secret: field,
    code: codeAt(secret, clock.now()),
  });
  expect(page.status, page.text).toBe(200);
  // Reads the CSRF token of the new session.
  await visitor.get('/dashboard/you');
  return {
    secret,
    recoveryCodes: recoveryCodesOf(page),
    code: (driftMs) => codeAt(secret, clock.now(), driftMs),
  };
}
