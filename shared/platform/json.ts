/**
 * Writes a JSON value with its keys in order, so that two writings of the same value are the same text.
 * The caller has bounded the depth.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    const entries = Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(entries);
  });
}

/** What is wrong with a text that PostgreSQL cannot hold, for whoever sent it. */
export const unstorableMessage = 'must not hold a NUL character or half a surrogate pair; leave it out';

/** False for a text that PostgreSQL refuses, in its JSON or at all: one with NUL, or with half a surrogate pair. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/**
 * True when every text in a value, keys of objects included, can be stored. It walks with a list of its own, so that nesting
 * cannot exhaust the stack; bytes hold no text yet.
 */
export function holdsStorableTexts(value: unknown): boolean {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const part = open.pop();
    if (typeof part === 'string' && !isStorable(part)) return false;
    if (typeof part !== 'object' || part === null || ArrayBuffer.isView(part)) continue;
    for (const [key, child] of Object.entries(part)) {
      if (!isStorable(key)) return false;
      open.push(child);
    }
  }
  return true;
}
