import { z } from 'zod';
import { type ErrorCode, errorCatalogue } from '#shared/platform/errors.ts';

export const errorCodes = Object.keys(errorCatalogue) as [ErrorCode, ...ErrorCode[]];

export const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/;

/** An idempotency key in a body; may be left out. */
export function idempotencyKeyField(description: string) {
  return z
    .string({ error: 'must be a string' })
    .regex(idempotencyKeyPattern, { error: 'must be 1 to 255 visible ASCII characters' })
    .optional()
    .describe(description);
}

/** An object in a body, without other fields. */
export function jsonObject<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject(shape, { error: 'must be a JSON object' });
}

/** The message for a required field: `is required` when it is missing, otherwise the given one. */
export function required(message: string): (issue: { input?: unknown }) => string {
  return ({ input }) => (input === undefined ? 'is required' : message);
}

/** For `superRefine`: adds what `problemOf` finds wrong with a value, unless that is null. */
export function checkedBy<Value>(
  problemOf: (value: Value) => string | null,
): (value: Value, context: z.RefinementCtx) => void {
  return (value, context) => {
    const message = problemOf(value);
    if (message !== null) context.addIssue({ code: 'custom', message });
  };
}

/** One of some values. */
export function oneOf<const Values extends readonly string[]>(values: Values) {
  return z.enum(values, { error: `must be one of: ${values.join(', ')}` });
}

/** A time in an output. */
export function timeOutput(description = 'UTC, with milliseconds.') {
  return z.string().meta({ format: 'date-time', description });
}

/** A time in an output that may be null. */
export function nullableTimeOutput(description: string) {
  return z.string().nullable().meta({ format: 'date-time', description });
}

/** The `id` in a path. @param of such as `refund, ref_...`. */
export function idParams(of: string, example: string) {
  return z.object({ id: z.string().meta({ description: `The id of the ${of}`, examples: [example] }) });
}

/** A page of a list: its items, and whether more follow. @param isPaged false for a list that is always sent whole. */
export function listOutput<Item extends z.ZodType>(item: Item, isPaged = true) {
  const description = isPaged ? 'Whether more follow.' : 'Whether more follow; false, because all are sent.';
  return z.object({ data: z.array(item), hasMore: z.boolean().meta({ description, examples: [isPaged] }) });
}

/** A page of a list. @param found its items, and one more if others follow. */
export function pageOfList<Item>(found: readonly Item[], limit: number): { data: Item[]; hasMore: boolean } {
  return { data: found.slice(0, limit), hasMore: found.length > limit };
}

/** A whole list as a page. */
export function wholeList<Item>(data: Item[]): { data: Item[]; hasMore: boolean } {
  return { data, hasMore: false };
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
  return number.default(fallback).meta({ ...meta, 'x-default': fallback });
}

/** A JSON schema of inputs with the defaults of numbers: zod leaves out those of what is transformed. */
export function withDefaults(schemaText: string): string {
  return schemaText.replaceAll('"x-default":', '"default":');
}

/** An amount in a query string that may be left out. */
export function optionalAmount(description: string) {
  const greatest = Number.MAX_SAFE_INTEGER;
  return numberText(0, greatest)
    .optional()
    .meta(numberMeta(description, 0, greatest));
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
