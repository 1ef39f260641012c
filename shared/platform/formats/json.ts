import { atOnce, endsPiece, type Pieces } from './pieces.ts';

/** JSON with sorted keys: the same text for equal values. The caller limits the depth. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    const entries = Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(entries);
  });
}

/** The error message for text that PostgreSQL cannot store. */
export const unstorableMessage = 'must not contain a NUL character or an unpaired surrogate';

/** False for text that PostgreSQL refuses: with NUL or an unpaired surrogate. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** True when every string in a value can be stored, including keys. */
export function holdsStorableTexts(value: unknown): boolean {
  return atOnce(checkingTexts(value));
}

/** `holdsStorableTexts` for a value that may be large. Iterative, so deep nesting cannot exhaust the stack. */
export function* checkingTexts(value: unknown): Pieces<boolean> {
  const open: unknown[] = [value];
  for (let steps = 1; open.length > 0; steps += 1) {
    if (endsPiece(steps)) yield;
    const part = open.pop();
    if (typeof part === 'string' && !isStorable(part)) return false;
    if (typeof part !== 'object' || part === null || ArrayBuffer.isView(part)) continue;
    if (!Array.isArray(part) && !Object.keys(part).every(isStorable)) return false;
    for (const child of Object.values(part)) open.push(child);
  }
  return true;
}
