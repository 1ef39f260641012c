import { z } from 'zod';
import { entered, enteredList, type FormReading, readForm } from './forms.ts';

/** What is entered in a filter, by the names of its parameters; nothing is left empty. */
export type EnteredFilter = Readonly<Record<string, string | readonly string[]>>;

/** The filter of an address: as it was entered, and what it means, or what is wrong with it. */
export interface Filter<T> {
  entered: EnteredFilter;
  reading: FormReading<T>;
}

/** Reads the parameters of an address that a schema has. Other parameters are ignored. */
export function filterIn<T>(schema: z.ZodType<T>, query: unknown): Filter<T> {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const given = Object.entries(properties).flatMap(([name, property]) => {
    const texts = enteredList(query, name).flatMap((text) => text.trim() || []);
    const isList = (property as { type?: string }).type === 'array';
    return texts[0] === undefined ? [] : [[name, isList ? texts : texts[0]] as const];
  });
  const filter = Object.fromEntries(given);
  return { entered: filter, reading: readForm(schema, filter) };
}

/** The cursor in the address of a page of a list; null for the first page. */
export function cursorIn(query: unknown): string | null {
  return entered(query, 'cursor') || null;
}

const dayMs = 24 * 60 * 60 * 1000;

/** A day in UTC, `2026-01-31`. */
export function dayField(title: string) {
  return z.iso
    .date('Enter a date, such as 2026-01-31.')
    .refine((day) => day >= '1970-01-01' && day < '9999-01-01', 'Enter a date after 1969.')
    .transform((day) => new Date(`${day}T00:00:00.000Z`))
    .optional()
    .meta({ title, format: 'date' });
}

/** The end of a day that a range includes, exclusive. @param to its start. */
export function endOfRange(
  { from, to }: { from?: Date | undefined; to?: Date | undefined },
  context: z.RefinementCtx,
): Date | undefined {
  if (from !== undefined && to !== undefined && to < from) {
    context.addIssue({ code: 'custom', path: ['to'], message: 'Must not be before the start date.' });
  }
  return to && new Date(to.getTime() + dayMs);
}
