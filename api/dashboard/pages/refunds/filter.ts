import { z } from 'zod';
import { currencies } from '#shared/money/money.ts';
import { refundStatuses } from '#shared/refunds/model/states.ts';
import { type RefundFilter, refundFilters } from '#shared/refunds/queries/refund-filter.ts';
import { statusWords } from '../../components/badge.tsx';
import type { FilterChip } from '../../components/filter-form.tsx';
import { dayField, endOfRange, type Filter } from '../../http/filter.ts';
import { readAmount } from '../../words/numbers.ts';
import {
  type Choices,
  currencyChoices,
  failureChoices,
  initiatorChoices,
  processorChoices,
  reasonChoices,
} from '../../words/words.ts';

/** With any other order the newest refunds come first. The largest need a currency. */
export const oldestFirst = 'oldest';
export const largestFirst = 'largest';

const notListed = 'Choose from the list.';
type Definition = (typeof refundFilters)[keyof typeof refundFilters];

/** The field of a filter, with empty ones left out. */
function fieldOf({ kind, values = [], maxLength = 255, title = '', hint }: Definition) {
  const meta = { title, ...(hint === undefined ? {} : { description: hint }) };
  if (kind !== 'choices' && values.length > 0) return z.enum(values, notListed).optional().meta(meta);
  switch (kind) {
    case 'choices':
      return z.array(z.enum(values, notListed)).optional().meta(meta);
    case 'currency':
      return z.enum(currencies, notListed).optional().meta(meta);
    case 'time':
      return dayField(title);
    case 'amount':
      // Read once the currency is known.
      return z
        .string()
        .optional()
        .meta({ ...meta, description: 'For example 10.50.', format: 'decimal' });
    case 'flag':
      return z
        .string()
        .transform(() => true)
        .optional()
        .meta({ ...meta, type: 'boolean' });
    default:
      // The audit log of an export stores the text.
      return z
        .string()
        .max(maxLength, 'Enter an ID.')
        .regex(/^[^\p{Cc}]*$/u, 'Enter an ID.')
        .optional()
        .meta({ ...meta, maxLength });
  }
}

const offered = Object.entries(refundFilters).flatMap(([name, definition]) => {
  const { title, kind, pageName = name }: Definition & { pageName?: string } = definition;
  return title === undefined ? [] : [{ name, kind, pageName, field: fieldOf(definition) }];
});

/** The fields of the filter, from `refundFilters`, and the order; it is read as what to search for. */
export const filterSchema = z
  .object({
    ...Object.fromEntries(offered.map(({ pageName, field }) => [pageName, field])),
    sort: z.enum([oldestFirst, largestFirst]).optional().catch(undefined),
  })
  .transform(({ sort, ...entered }: Record<string, unknown>, context): RefundFilter => {
    const { currency } = entered as { currency?: string };
    const withoutCurrency = () => {
      context.addIssue({
        code: 'custom',
        path: ['currency'],
        message: 'Choose the currency of the amounts.',
      });
    };
    if (sort === largestFirst && currency === undefined) withoutCurrency();
    const amountOf = (field: string, text: string) => {
      if (currency === undefined) return withoutCurrency();
      const amount = readAmount(text, currency);
      if (amount.kind === 'amount') return amount.amount;
      context.addIssue({ code: 'custom', path: [field], message: amount.problem });
    };
    const read = ({ kind, pageName }: (typeof offered)[number]) => {
      const value = entered[pageName];
      if (pageName === 'to') return endOfRange(entered, context);
      return kind === 'amount' && value !== undefined ? amountOf(pageName, value as string) : value;
    };
    const filter = Object.fromEntries(offered.map((each) => [each.name, read(each)])) as RefundFilter;
    const { amountMin, amountMax } = filter;
    if (amountMin !== undefined && amountMax !== undefined && amountMax < amountMin) {
      context.addIssue({
        code: 'custom',
        path: ['amountTo'],
        message: 'Must not be less than the minimum.',
      });
    }
    return filter;
  });

/** The fields in groups, those that are used most first. */
export const filterChips: readonly FilterChip[] = [
  ['Status', 'status', 'needsAttention', 'outcomeUnknown'],
  ['Created', 'from', 'to'],
  ['Customer or order', 'word'],
  ['Requested by', 'requestedBy', 'initiatedBy'],
  ['Amount', 'currency', 'amountFrom', 'amountTo'],
  ['Reason', 'reason', 'failureCode'],
  ['Account', 'processor', 'account'],
  ['ID', 'q'],
];

/** The words of what can be chosen. */
export const filterChoices: Readonly<Record<string, Choices>> = {
  processor: processorChoices,
  initiatedBy: initiatorChoices,
  reason: reasonChoices,
  failureCode: failureChoices,
  currency: currencyChoices,
  status: refundStatuses.map((status) => [status, statusWords[status]]),
};

/** The filter of a list of refunds. */
export type RefundListFilter = Filter<RefundFilter>;
