import { z } from 'zod';
import type { FormReading } from './forms.ts';

const dayMs = 24 * 60 * 60 * 1000;
const daySchema = z.iso
  .date('Enter a date, such as 2026-01-31.')
  .refine((day) => day >= '1970-01-01' && day < '9999-01-01', 'Enter a date after 1969.')
  .transform((day) => new Date(`${day}T00:00:00.000Z`));

/** A field of a filter, which may be empty. */
export function chosen<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => (value === '' ? undefined : value), schema.optional());
}

/** The fields of a range of days in UTC, `2026-01-31`. */
export const dayRangeFields = { from: chosen(daySchema), to: chosen(daySchema) };

/** The times of a range of days, of which both are included: `since` is inclusive, `until` exclusive. */
export function readDayRange({
  from: since,
  to,
}: {
  from?: Date | undefined;
  to?: Date | undefined;
}): FormReading<{ since: Date | undefined; until: Date | undefined }> {
  if (since !== undefined && to !== undefined && to < since) {
    return { kind: 'invalid', problems: { to: 'Must not be before the start date.' } };
  }
  return { kind: 'valid', value: { since, until: to && new Date(to.getTime() + dayMs) } };
}
