import { expect } from 'vitest';
import { type SignIn, signIn } from '#shared/people/sign-in/sign-in.ts';
import type { TestPeople, TestPerson } from './people.ts';

/** A password that no user has. */
export const wrongPassword = 'not the password at all';

/** The result of a wrong password. */
export const refused = { kind: 'refused' };

/** Tries to sign in, each account from a network of its own, unless an IP address is given. */
export function signInTriesOf(people: TestPeople) {
  const tryPassword = (email: string, password: string, browser?: string, ip?: string): Promise<SignIn> =>
    signIn(people.deps, { email, password, browser, ip: ip ?? email.trim().toLowerCase() });
  return {
    tryPassword,
    kindOf: async ({ email, password }: TestPerson, browser?: string) =>
      (await tryPassword(email, password, browser)).kind,
    async failTimes(email: string, times: number, browser?: string): Promise<void> {
      for (let count = 0; count < times; count += 1) {
        expect(await tryPassword(email, wrongPassword, browser)).toEqual(refused);
      }
    },
  };
}
