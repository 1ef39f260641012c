import { z } from 'zod';
import { currencies } from '../../../../shared/money/money.ts';
import { processorNames } from '../../../../shared/processors/registry.ts';
import { initiators, refundReasons } from '../../../../shared/refunds/model/reasons.ts';
import { refundStatuses } from '../../../../shared/refunds/model/states.ts';
import type { RefundFilter } from '../../../../shared/refunds/queries/refund-filter.ts';
import { type FormProblems, type FormReading, readAmount, readForm } from '../../http/forms.ts';

/** The filter as it stands in the form and in the address of the page; the empty text where nothing is chosen. */
export interface EnteredFilter {
  q: string;
  status: readonly string[];
  processor: string;
  initiatedBy: string;
  reason: string;
  currency: string;
  /** Days in UTC, `2026-01-31`; both are a part of what is meant. */
  from: string;
  to: string;
  /** In decimals of the currency; both are a part of what is meant. */
  amountFrom: string;
  amountTo: string;
  needsPerson: boolean;
}

const textFields = [
  'q',
  'processor',
  'initiatedBy',
  'reason',
  'currency',
  'from',
  'to',
  'amountFrom',
  'amountTo',
] as const;

/** What is entered, whatever it is. */
export function enteredFilter(query: unknown): EnteredFilter {
  const given = (query ?? {}) as Record<string, unknown>;
  const text = (field: string) => (typeof given[field] === 'string' ? given[field] : '');
  const texts = Object.fromEntries(textFields.map((field) => [field, text(field).trim()]));
  return {
    ...(texts as Record<(typeof textFields)[number], string>),
    status: [given.status ?? []].flat().filter((each): each is string => typeof each === 'string'),
    needsPerson: text('needsPerson') !== '',
  };
}

/** The filter as the end of an address; whatever is not chosen is left out. */
export function filterQuery(entered: EnteredFilter, more: Record<string, string> = {}): string {
  const query = new URLSearchParams();
  for (const field of textFields) if (entered[field] !== '') query.set(field, entered[field]);
  for (const status of entered.status) query.append('status', status);
  if (entered.needsPerson) query.set('needsPerson', 'true');
  for (const [name, value] of Object.entries(more)) query.set(name, value);
  return query.size === 0 ? '' : `?${query}`;
}

/** True when it leaves anything out. */
export function isRestricting(entered: EnteredFilter): boolean {
  return filterQuery(entered) !== '';
}

const dayMs = 24 * 60 * 60 * 1000;
const daySchema = z.iso
  .date('Has to be a day, such as 2026-01-31.')
  .refine((day) => day >= '1970-01-01' && day < '9999-01-01', 'Has to be a day from 1970 on.')
  .transform((day) => new Date(`${day}T00:00:00.000Z`));

function chosen<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => (value === '' ? undefined : value), schema.optional());
}

const filterSchema = z.object({
  // No id is longer, and what is searched for is in the audit log of an export.
  q: chosen(
    z
      .string()
      .max(255, 'Has to be an id.')
      .regex(/^[^\p{Cc}]*$/u, 'Has to be an id.'),
  ),
  status: z.array(z.enum(refundStatuses, 'Choose from the list.')),
  processor: chosen(z.enum(processorNames, 'Choose from the list.')),
  initiatedBy: chosen(z.enum(initiators, 'Choose from the list.')),
  reason: chosen(z.enum(refundReasons, 'Choose from the list.')),
  currency: chosen(z.enum(currencies, 'Choose from the list.')),
  from: chosen(daySchema),
  to: chosen(daySchema),
  amountFrom: chosen(z.string()),
  amountTo: chosen(z.string()),
  needsPerson: z.boolean(),
});

type ChosenFilter = z.infer<typeof filterSchema>;

/** The filter that is meant, or what has to be mended. */
export function readFilter(entered: EnteredFilter): FormReading<RefundFilter> {
  const reading = readForm(filterSchema, entered);
  if (reading.kind === 'invalid') return reading;
  const { status, from, to, amountFrom: _from, amountTo: _to, ...rest } = reading.value;
  if (from !== undefined && to !== undefined && to < from) {
    return invalid({ to: 'Has to be the same day as the first one, or later.' });
  }
  const amounts = readAmounts(reading.value);
  if (amounts.kind === 'invalid') return amounts;
  const createdTo = to === undefined ? undefined : new Date(to.getTime() + dayMs);
  return {
    kind: 'valid',
    value: { ...rest, ...amounts.value, statuses: status, createdFrom: from, createdTo },
  };
}

function readAmounts({
  currency,
  ...entered
}: ChosenFilter): FormReading<Pick<RefundFilter, 'amountFrom' | 'amountTo'>> {
  const value: { amountFrom?: bigint; amountTo?: bigint } = {};
  for (const field of ['amountFrom', 'amountTo'] as const) {
    const text = entered[field];
    if (text === undefined) continue;
    if (currency === undefined) return invalid({ currency: 'Choose the currency of the amounts.' });
    const read = readAmount(text, currency);
    if (read.kind === 'problem') return invalid({ [field]: read.problem });
    value[field] = read.amount;
  }
  const { amountFrom, amountTo } = value;
  return amountFrom !== undefined && amountTo !== undefined && amountTo < amountFrom
    ? invalid({ amountTo: 'Has to be as much as the first one, or more.' })
    : { kind: 'valid', value };
}

function invalid(problems: FormProblems): { kind: 'invalid'; problems: FormProblems } {
  return { kind: 'invalid', problems };
}
