import { z } from 'zod';
import { currencies } from '#shared/money/money.ts';
import { isId } from '#shared/platform/ids.ts';
import { processorNames } from '#shared/processors/registry.ts';
import { initiators, refundReasons } from '#shared/refund-request/reasons.ts';
import { refundStatuses } from '#shared/refunds/model/states.ts';
import type { RefundFilter } from '#shared/refunds/queries/refund-filter.ts';
import { chosen, dayRangeFields, readDayRange } from '../../http/day-range.ts';
import {
  enteredList,
  entered as enteredText,
  type FormProblems,
  type FormReading,
  readForm,
} from '../../http/forms.ts';
import { readAmount } from '../../words/numbers.ts';

const filterSchema = z.object({
  // No id is longer, and the audit log of an export stores the search text.
  q: chosen(
    z
      .string()
      .max(255, 'Enter an ID.')
      .regex(/^[^\p{Cc}]*$/u, 'Enter an ID.'),
  ),
  status: z.array(z.enum(refundStatuses, 'Choose from the list.')),
  processor: chosen(z.enum(processorNames, 'Choose from the list.')),
  initiatedBy: chosen(z.enum(initiators, 'Choose from the list.')),
  apiKeyId: chosen(z.string().refine((text) => isId('key', text), 'Enter the ID of an API key, key_...')),
  reason: chosen(z.enum(refundReasons, 'Choose from the list.')),
  failureCode: chosen(z.string().max(100, 'Choose from the list.')),
  currency: chosen(z.enum(currencies, 'Choose from the list.')),
  // Days in UTC, `2026-01-31`; both are included.
  ...dayRangeFields,
  // In decimals of the currency; both are included.
  amountFrom: chosen(z.string()),
  amountTo: chosen(z.string()),
  needsAttention: z.string().transform((text) => text !== ''),
  outcomeUnknown: z.string().transform((text) => text !== ''),
});

const { status: _, ...textShape } = filterSchema.shape;
type FilterField = keyof typeof textShape | 'sort';

/** The fields of one text each, in the order of the query. */
const textFields = [...(Object.keys(textShape) as (keyof typeof textShape)[]), 'sort'] as const;

/** Values of `sort`; with any other the newest refunds come first. The largest need a currency. */
export const oldestFirst = 'oldest';
export const largestFirst = 'largest';

/** The filter as the form and the URL have it; empty where nothing is chosen. */
export interface EnteredFilter extends Record<FilterField, string> {
  status: readonly string[];
}

/** The filter of a request, whether or not it is valid. */
export function enteredFilter(query: unknown): EnteredFilter {
  const texts = Object.fromEntries(textFields.map((field) => [field, enteredText(query, field).trim()]));
  const sort = [oldestFirst, largestFirst].find((each) => each === texts.sort) ?? '';
  return { ...(texts as Record<FilterField, string>), sort, status: enteredList(query, 'status') };
}

/** The filter as a query string, with `more` added; empty fields are left out. */
export function filterQuery(entered: EnteredFilter, more: Record<string, string> = {}): string {
  const query = new URLSearchParams();
  for (const field of textFields) if (entered[field] !== '') query.set(field, entered[field]);
  for (const status of entered.status) query.append('status', status);
  for (const [name, value] of Object.entries(more)) query.set(name, value);
  return query.size === 0 ? '' : `?${query}`;
}

/** True when anything is chosen. */
export function isRestricting(entered: EnteredFilter): boolean {
  return filterQuery({ ...entered, sort: '' }) !== '';
}

/** The filter to search with, or what is wrong with it. */
export function readFilter(entered: EnteredFilter): FormReading<RefundFilter> {
  const reading = readForm(filterSchema, entered);
  if (reading.kind === 'invalid') return reading;
  const { status: statuses, from, to, amountFrom, amountTo, ...rest } = reading.value;
  const range = readDayRange({ from, to });
  if (range.kind === 'invalid') return range;
  if (entered.sort === largestFirst && rest.currency === undefined) return withoutCurrency;
  const amounts = readAmounts({ amountFrom, amountTo }, rest.currency);
  if (amounts.kind === 'invalid') return amounts;
  const { since: createdAfter, until: createdBefore } = range.value;
  return { kind: 'valid', value: { ...rest, ...amounts.value, statuses, createdAfter, createdBefore } };
}

function readAmounts(
  entered: { amountFrom?: string | undefined; amountTo?: string | undefined },
  currency: string | undefined,
): FormReading<Pick<RefundFilter, 'amountFrom' | 'amountTo'>> {
  const value: { amountFrom?: bigint; amountTo?: bigint } = {};
  for (const field of ['amountFrom', 'amountTo'] as const) {
    const text = entered[field];
    if (text === undefined) continue;
    if (currency === undefined) return withoutCurrency;
    const read = readAmount(text, currency);
    if (read.kind === 'problem') return invalid({ [field]: read.problem });
    value[field] = read.amount;
  }
  const { amountFrom, amountTo } = value;
  return amountFrom !== undefined && amountTo !== undefined && amountTo < amountFrom
    ? invalid({ amountTo: 'Must not be less than the minimum.' })
    : { kind: 'valid', value };
}

const withoutCurrency = invalid({ currency: 'Choose the currency of the amounts.' });

function invalid(problems: FormProblems): { kind: 'invalid'; problems: FormProblems } {
  return { kind: 'invalid', problems };
}
