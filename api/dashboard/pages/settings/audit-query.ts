import { z } from 'zod';
import type { AuditFilter } from '#shared/platform/audit-log.ts';
import { dayRangeFields, readDayRange } from '../../http/day-range.ts';
import { type FormReading, readForm } from '../../http/forms.ts';

/** An empty text, or one that no entry can have, means no filter. */
const filterText = z
  .string()
  .regex(/^[^\p{Cc}]{1,200}$/u)
  .optional()
  .catch(undefined);
const entries = { actor: filterText, action: filterText };
const enteredSchema = z.object({ ...entries, from: filterText, to: filterText, before: filterText });
const filterSchema = z.object({ ...entries, ...dayRangeFields });

/** The query of the audit log as the form and the URL have it. `before` is the entry after which the page begins. */
export type EnteredAuditQuery = Partial<z.output<typeof enteredSchema>>;

/** The query of a request, whether or not it is valid. */
export function enteredAuditQuery(query: unknown): EnteredAuditQuery {
  return enteredSchema.parse(query);
}

/** The filter to search with, or what is wrong with its dates. */
export function readAuditQuery(query: unknown): FormReading<AuditFilter> {
  const reading = readForm(filterSchema, query);
  if (reading.kind === 'invalid') return reading;
  const { from, to, ...filter } = reading.value;
  const range = readDayRange({ from, to });
  return range.kind === 'invalid' ? range : { kind: 'valid', value: { ...filter, ...range.value } };
}
