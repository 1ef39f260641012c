import { z } from 'zod';
import { isCurrency } from '#shared/money/money.ts';
import { metadataLimits } from '#shared/refund-request/metadata.ts';
import { type RefundFilter, refundFilters } from '#shared/refunds/queries/refund-filter.ts';
import { include } from './detailed-refund.ts';
import { offsetNumber, oneOf, onlyOnce, optionalAmount, wholeNumber } from './fields.ts';
import { exampleRefund } from './refund-schemas.ts';

/** Visible ASCII characters, as in every name and id of a processor. */
const visibleText = (longest: number) =>
  z
    .string({ error: onlyOnce })
    .min(1, { error: 'must not be empty' })
    .max(longest, { error: `must have at most ${longest} characters` })
    .regex(/^[\x21-\x7e]*$/, { error: 'must contain visible ASCII characters only' })
    .optional();

const timeError =
  'must be an ISO 8601 date or time with a zone, such as 2026-11-20T09:30:00Z; encode a + as %2B';

/** A time from 1970 to 9999. Refunds are created at whole milliseconds, so that finer times are rounded up. */
const time = (description: string) =>
  z
    .union(
      [z.iso.datetime({ offset: true }), z.iso.datetime({ offset: true, precision: -1 }), z.iso.date()],
      { error: ({ input }) => (typeof input === 'string' ? timeError : onlyOnce) },
    )
    .transform((text) => new Date(Date.parse(text) + (/\.\d{3}\d*[1-9]/.test(text) ? 1 : 0)))
    .refine((date) => date.getUTCFullYear() >= 1970 && date.getUTCFullYear() <= 9999, { error: timeError })
    .optional()
    .meta({
      description,
      type: 'string',
      format: 'date-time',
      anyOf: undefined,
      examples: ['2026-11-20T09:30:00Z'],
    });

/** Clients may send any of these, which arrives as text. */
export const scalarMeta = { type: ['string', 'number', 'boolean'] };

const amount = (description: string) => {
  const number = optionalAmount(description);
  return number
    .transform((minor) => (minor === undefined ? undefined : BigInt(minor)))
    .meta(number.meta() ?? {});
};

const currency = z
  .string({ error: onlyOnce })
  .toLowerCase()
  .refine(isCurrency, { error: 'must be an ISO 4217 currency, such as usd' })
  .optional();

const metadata = z
  .record(z.string(), z.string({ error: onlyOnce }).meta(scalarMeta), {
    error: 'must be sent as metadata[key]=value',
  })
  .optional();

type Definition = (typeof refundFilters)[keyof typeof refundFilters];

/** The parameter of a filter. */
function parameterOf({ kind, values = [], maxLength = 255, description = '', example }: Definition) {
  const meta = { description, ...(example === undefined ? {} : { examples: [example] }) };
  switch (kind) {
    case 'choice':
      return oneOf(values).optional().meta(meta);
    case 'choices':
      return oneOf(values)
        .transform((value) => [value])
        .optional()
        .meta(meta);
    case 'text':
      return visibleText(maxLength).meta(meta);
    case 'currency':
      return currency.meta(meta);
    case 'time':
      return time(description);
    case 'amount':
      return amount(description);
    case 'metadata':
      return metadata.meta({ ...meta, style: 'deepObject', explode: true });
    case 'flag':
      return z
        .stringbool()
        .optional()
        .meta({ ...meta, type: 'boolean' });
  }
}

const offered = Object.entries(refundFilters).filter(([, { description }]) => description !== undefined);
const filters = Object.fromEntries(
  offered.map(([name, definition]) => [name, parameterOf(definition)]),
) as unknown as { [Name in keyof RefundFilter]-?: z.ZodType<RefundFilter[Name]> };

export const listRefundsQuerySchema = z.object({
  ...filters,
  include,
  limit: wholeNumber('The maximum number of refunds to return.', 1, 100, 25),
  offset: offsetNumber('How many of the newest refunds to skip.', 'use after to read further'),
  after: z
    .string({ error: onlyOnce })
    .optional()
    .meta({
      description:
        'The id of the refund to continue after: the last one of the previous page. Unlike with `offset`, refunds that are ' +
        'created meanwhile neither repeat nor skip others, and every page costs the same.',
      examples: [exampleRefund.id],
    }),
});

/** No refund has the key __proto__, which the schema would drop. */
const metadataParameter = new RegExp(
  `^metadata\\[(?!__proto__\\])(.{1,${metadataLimits.keyLength}})\\]$`,
  's',
);

/** Gathers `metadata[key]` parameters, which arrive one by one, in one object. */
function gatherMetadata(query: unknown): unknown {
  const entries = Object.entries(query as Record<string, unknown>);
  const isMetadata = ([name]: [string, unknown]) => metadataParameter.test(name);
  const found = entries.filter(isMetadata);
  if (found.length === 0) return query;
  const metadata = found.map(([name, value]) => [metadataParameter.exec(name)?.[1] ?? name, value]);
  return Object.fromEntries([
    ...entries.filter((entry) => !isMetadata(entry)),
    ['metadata', Object.fromEntries(metadata)],
  ]);
}

export const refundListQuery = z.preprocess(gatherMetadata, listRefundsQuerySchema.strict());
