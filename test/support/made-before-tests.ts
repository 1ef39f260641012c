import { afterAll, beforeAll } from 'vitest';

/**
 * Makes an object before the tests of a file, or of a `describe` block, and ends it after them.
 * @param what names the object in error messages.
 * @returns a proxy that can be passed around at once, and whose properties can be used in hooks and tests.
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
  // Frozen, because writes would not reach the object.
  return new Proxy(Object.freeze({}) as T, {
    get(_standIn, name) {
      if (made === null) throw new Error(`${what} is made in beforeAll. Use it in a hook or a test.`);
      const value: unknown = Reflect.get(made, name);
      return typeof value === 'function' ? value.bind(made) : value;
    },
  });
}
