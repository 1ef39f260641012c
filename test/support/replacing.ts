/** An object with some members replaced. */
export function replacing<T extends object>(target: T, members: { readonly [Name in keyof T]?: unknown }): T {
  return new Proxy(target, {
    get(original, name) {
      if (Object.hasOwn(members, name)) return Reflect.get(members, name);
      const value: unknown = Reflect.get(original, name);
      return typeof value === 'function' ? value.bind(original) : value;
    },
  });
}
