import { afterAll, beforeAll } from 'vitest';

/**
 * Makes something before the tests of a file, or of a `describe` block, and ends it after them.
 * @param what names it in the message for those who ask too early.
 * @returns what stands for it: a constant that can be named, handed on and taken apart anywhere, while its
 * properties are there for hooks and tests only.
 */
export function madeBeforeTests<T extends object>(
  what: string,
  make: () => T | Promise<T>,
  end?: (made: T) => Promise<unknown>,
): T {
  let made: T | null = null;
  beforeAll(async () => {
    made = await make();
  });
  afterAll(async () => {
    if (made !== null) await end?.(made);
  });
  // Frozen: what a test would write to it would reach nobody.
  return new Proxy(Object.freeze({}) as T, {
    get(_standIn, name) {
      if (made === null) throw new Error(`${what} is made in beforeAll; ask for it in a hook or a test.`);
      const value: unknown = Reflect.get(made, name);
      return typeof value === 'function' ? value.bind(made) : value;
    },
  });
}
