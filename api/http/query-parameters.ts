import { z } from 'zod';

/** Refuses parameters that are not declared: with a filter that is ignored, a client would get other results than it expects. */
export function onlyDeclared(query: z.ZodType = z.object({})): z.ZodType {
  // Any other schema has to be strict itself.
  return query instanceof z.ZodObject ? query.strict() : query;
}

/** The message for a parameter that is repeated, which arrives as a list. */
export const onlyOnce = 'must be given once';

/** A number in a query string; `fallback` when it is left out. */
export function wholeNumber(description: string, least: number, greatest: number, fallback: number) {
  return withFallback(numberText(least, greatest), numberMeta(description, least, greatest), fallback);
}

/** The database reads and discards every row that is skipped. */
const greatestOffset = 1_000_000;

/** How many rows of a list to skip. @param instead how to read the rows beyond. */
export function offsetNumber(description: string, instead: string) {
  const meta = numberMeta(description, 0, greatestOffset);
  return withFallback(numberText(0, greatestOffset, ` (${instead})`), meta, 0);
}

function withFallback(
  number: ReturnType<typeof numberText>,
  meta: ReturnType<typeof numberMeta>,
  fallback: number,
) {
  return number.default(fallback).meta({ ...meta, default: fallback });
}

/** A number in a query string that may be left out. */
export function optionalWholeNumber(description: string, least: number, greatest: number) {
  return numberText(least, greatest)
    .optional()
    .meta(numberMeta(description, least, greatest));
}

function numberText(least: number, greatest: number, instead = '') {
  const range = `must be a whole number from ${least} to ${greatest}${instead}`;
  return z
    .string({ error: onlyOnce })
    .regex(/^\d{1,16}$/, { error: range })
    .transform(Number)
    .pipe(
      z
        .int({ error: range })
        .min(least, { error: `must be at least ${least}` })
        .max(greatest, { error: `must be at most ${greatest}${instead}` }),
    );
}

/** Clients send an integer, which arrives as text. */
function numberMeta(description: string, least: number, greatest: number) {
  return { description, type: 'integer', minimum: least, maximum: greatest, pattern: undefined };
}
