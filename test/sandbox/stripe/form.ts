/** A decoded form: `amount=5&metadata[a]=b` is `{values: {amount: '5'}, nested: {metadata: {a: 'b'}}}`. */
export interface Form {
  values: Record<string, string>;
  nested: Record<string, Record<string, string>>;
}

export function parseForm(encoded: string | URLSearchParams): Form {
  const form: Form = { values: {}, nested: {} };
  let unnamed = 0;
  for (const [name, value] of new URLSearchParams(encoded)) {
    const brackets = /^([^[]+)\[(.*)\]$/.exec(name);
    const [, outer, inner] = brackets ?? [];
    if (outer === undefined || inner === undefined) {
      form.values[name] = value;
      continue;
    }
    // `expand[]=x` has no inner name; number those.
    form.nested[outer] = { ...form.nested[outer], [inner === '' ? String(unnamed++) : inner]: value };
  }
  return form;
}

/** The same parameters in another order are the same request. */
export function canonicalForm(encoded: string): string {
  const pairs = [...new URLSearchParams(encoded)].sort(
    ([a, x], [b, y]) => a.localeCompare(b) || x.localeCompare(y),
  );
  return new URLSearchParams(pairs).toString();
}
