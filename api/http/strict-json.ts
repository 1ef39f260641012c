import { getUnsafeNumberReason, parse as parseStrictly } from 'lossless-json';

/** A number that JavaScript would silently turn into another one. */
class InexactNumberError extends Error {
  readonly literal: string;

  constructor(literal: string) {
    super('Inexact number');
    this.literal = literal;
  }
}

/**
 * Why a text is no JSON that means the same to everybody; null when it is. A key that stands twice with two values is
 * refused rather than decided by its position, and so are numbers that would silently become others.
 * @param describeNumber tells of such a number; where the text may be secret, without quoting it.
 */
export function jsonProblem(text: string, describeNumber = describeMetadataNumber): string | null {
  try {
    parseStrictly(text, undefined, { parseNumber: exactNumber });
    return null;
  } catch (error) {
    if (error instanceof InexactNumberError) return describeNumber(error.literal);
    // The parser descends with the nesting, so what is nested too deeply ends its stack.
    if (error instanceof RangeError) return 'nested too deeply';
    const duplicate = error instanceof SyntaxError && error.message.startsWith('Duplicate key');
    return duplicate ? 'a key stands twice with different values' : 'not valid JSON';
  }
}

/** Decimals may lose digits that nobody can mean; whole numbers, and those that would end up whole, may not. */
function exactNumber(literal: string): number {
  const value = Number(literal);
  const reason = getUnsafeNumberReason(literal);
  if (reason === undefined || (reason === 'truncate_float' && !Number.isInteger(value))) return value;
  throw new InexactNumberError(literal);
}

function describeMetadataNumber(literal: string): string {
  return `the number ${literal.slice(0, 40)} cannot be kept exactly; metadata may hold it as a string`;
}
