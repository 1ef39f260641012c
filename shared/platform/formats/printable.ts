/**
 * Whether a text has a number of characters, all of which show as what they are: no control characters, and none that hide or reorder
 * others, are unassigned, or mean something in one font alone.
 * @param length in code points.
 */
export function isPrintable(text: string, { min = 1, max }: { min?: number; max: number }): boolean {
  const { length } = [...text];
  return length >= min && length <= max && !/\p{C}/u.test(text);
}
