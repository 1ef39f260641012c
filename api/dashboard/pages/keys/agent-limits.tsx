import { z } from 'zod';
import { isCurrency } from '#shared/money/money.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import type { AgentLimits } from '#shared/policies/agent-limits.ts';
import { refundReasons } from '#shared/refund-request/reasons.ts';
import { inMoney, readAmount } from '../../words/numbers.ts';
import { reasonWords } from '../../words/words.ts';

const amount = (title: string, description: string) =>
  z.string().trim().default('').meta({ title, description, format: 'decimal', maxLength: 20 });

/** The fields of a form that limit an agent's key. */
export const limitFields = {
  currency: z
    .string()
    .trim()
    .toLowerCase()
    .refine(isCurrency, 'Enter the currency of the limits, such as USD.')
    .meta({
      title: 'Currency',
      description: 'Of its refunds and of all limits, for example USD.',
      maxLength: 3,
    }),
  maxPerRefund: amount('Maximum amount per refund', 'If empty, there is no limit.'),
  maxPerPayment: amount('Maximum amount per payment', 'Of all its refunds, with those of others.'),
  maxPerDay: amount('Maximum amount in 24 hours', 'Of the refunds that this key requests.'),
  approvalAbove: amount(
    'Approval above',
    "A person must approve when a payment's refunds exceed it; 0 for every refund.",
  ),
  reasons: z
    .preprocess(
      (given) => [given ?? []].flat(),
      z.array(z.enum(refundReasons, 'Select reasons from the list.')),
    )
    .meta({ title: 'Allowed reasons', description: 'Leave all unselected to allow any.', type: 'array' }),
};

type Entries = z.output<z.ZodObject<typeof limitFields>>;

/**
 * The limits that were entered.
 * @throws ServiceError validation_error naming the field.
 */
export function limitsOf({ currency, reasons, ...amounts }: Entries): AgentLimits {
  const read = (field: keyof typeof amounts, least: bigint) => {
    if (amounts[field] === '') return undefined;
    const entered = readAmount(amounts[field], currency);
    if (entered.kind === 'problem') throw problemAt(field, entered.problem);
    if (entered.amount < least) throw problemAt(field, 'Must be more than 0.');
    return entered.amount;
  };
  return {
    currency,
    maxPerRefund: read('maxPerRefund', 1n),
    maxPerPayment: read('maxPerPayment', 1n),
    maxPerDay: read('maxPerDay', 1n),
    approvalAbove: read('approvalAbove', 0n),
    reasons: reasons.length === 0 ? undefined : reasons,
  };
}

function problemAt(field: keyof Entries, problem: string): ServiceError {
  return new ServiceError('validation_error', `${field}: ${problem}`);
}

interface ShownLimitsProps {
  limits: AgentLimits;
  /** What the key has refunded in the last 24 hours, in minor units. */
  taken: bigint;
}

/** The limits of an agent's key, and what is used of the one that has a period. */
export function ShownLimits({ limits, taken }: ShownLimitsProps) {
  const { currency, reasons, maxPerRefund, maxPerPayment, maxPerDay, approvalAbove } = limits;
  const amounts = [
    [maxPerRefund, 'per refund'],
    [maxPerPayment, 'per payment, with the refunds of others'],
    [approvalAbove, 'per payment without approval'],
  ] as const;
  const used = inMoney(taken, currency);
  const reasonsInWords = reasons?.map((reason) => reasonWords[reason]).join(', ');
  return (
    <span class="detail small">
      {maxPerDay === undefined ? (
        `${used} refunded in 24 hours; no daily limit`
      ) : (
        <>
          {used} of {inMoney(maxPerDay, currency)} in 24 hours{' '}
          <progress max={Number(maxPerDay)} value={Number(taken)} aria-label="Used of the daily limit" />
        </>
      )}
      {amounts.map(([limit, scope]) =>
        limit === undefined ? null : (
          <span key={scope} class="detail muted">
            {inMoney(limit, currency)} {scope}
          </span>
        ),
      )}
      <span class="detail muted">
        {currency.toUpperCase()} only,{' '}
        {reasonsInWords === undefined ? 'for any reason' : `for: ${reasonsInWords}`}
      </span>
    </span>
  );
}
