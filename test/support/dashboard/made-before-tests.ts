import { afterAll, beforeAll } from 'vitest';

/**
 * Creates a fixture before the tests of a file or `describe` block and closes it afterwards.
 * @param what its name, for the error when it is used too early.
 * @returns a proxy for the fixture; its properties can only be read in hooks and tests.
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
  // Frozen, because writes would not reach the fixture.
  return new Proxy(Object.freeze({}) as T, {
    get(_standIn, name) {
      if (made === null) throw new Error(`${what} is created in beforeAll; use it in a hook or a test.`);
      const value: unknown = Reflect.get(made, name);
      return typeof value === 'function' ? value.bind(made) : value;
    },
  });
}
