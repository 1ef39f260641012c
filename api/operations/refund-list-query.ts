import { z } from 'zod';
import { isCurrency } from '#shared/money/money.ts';
import { metadataLimits } from '#shared/refund-request/metadata.ts';
import { initiators, refundReasons } from '#shared/refund-request/reasons.ts';
import { refundStatuses } from '#shared/refunds/model/states.ts';
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

export const listRefundsQuerySchema = z.object({
  status: oneOf(refundStatuses).optional().describe('Only refunds with this status.'),
  processor: visibleText(50).meta({ description: 'Only refunds at this processor.', examples: ['stripe'] }),
  transactionId: visibleText(255).meta({
    description:
      'Only refunds that were requested with this id. GET /v1/payments/{transactionId} finds those of a payment by any of its ids.',
    examples: [exampleRefund.transactionId],
  }),
  reason: oneOf(refundReasons).optional().describe('Only refunds for this reason.'),
  initiatedBy: oneOf(initiators).optional().describe('Only refunds that were requested there.'),
  currency: z
    .string({ error: onlyOnce })
    .toLowerCase()
    .refine(isCurrency, { error: 'must be an ISO 4217 currency, such as usd' })
    .optional()
    .meta({ description: 'Only refunds in this currency.', examples: ['usd'] }),
  createdAfter: time('Only refunds created at this time or later.'),
  createdBefore: time('Only refunds created before this time.'),
  amountMin: optionalAmount('Only refunds of at least this amount.'),
  amountMax: optionalAmount('Only refunds of at most this amount.'),
  metadata: z
    .record(z.string(), z.string({ error: onlyOnce }).meta(scalarMeta), {
      error: 'must be sent as metadata[key]=value',
    })
    .optional()
    .meta({
      description:
        'Only refunds with this value in the first level of their metadata: `metadata[order]=1001`. Compared as text with ' +
        'strings, numbers and booleans.',
      examples: [{ ticket: 'T-1001' }],
      style: 'deepObject',
      explode: true,
    }),
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
