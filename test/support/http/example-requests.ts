import type { Operation } from '#api/operations/operation.ts';
import type { ServiceSettings } from '#shared/platform/config.ts';

/** The first example of an operation's body; undefined for an operation without a body. */
export function exampleBodyOf({ id, body }: Operation): object | undefined {
  if (body === undefined) return undefined;
  const deps = { clock: { now: () => new Date() }, settings: {} as ServiceSettings };
  let schema = typeof body === 'function' ? body(deps as Parameters<typeof body>[0]) : body;
  while ('unwrap' in schema) schema = (schema.unwrap as () => typeof schema)();
  const [example] = (schema.meta()?.examples ?? []) as object[];
  if (example === undefined) throw new Error(`Give the body of ${id} an example.`);
  return example;
}
