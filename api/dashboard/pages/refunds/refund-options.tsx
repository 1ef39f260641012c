import { z } from 'zod';
import type { Payment } from '#shared/platform/database.ts';
import type { RefundOptions } from '#shared/processors/contract/refund-options.ts';
import { Fields } from '../../components/fields.tsx';
import type { Choices } from '../../words/words.ts';

/** Left empty, the defaults of the account decide. */
const choice = z.enum(['', 'true', 'false'], 'Choose from the list.').optional();

/** What goes with a refund, chosen once its payment is known. */
export const optionFields = {
  reverseTransfer: choice.meta({ title: 'Paid by' }),
  refundApplicationFee: choice.meta({ title: 'Application fee' }),
};

const schema = z.object(optionFields);

/** The options of a form; undefined where it says nothing. */
export function optionsIn(entered: z.output<typeof schema>): RefundOptions | undefined {
  const given = Object.keys(optionFields).flatMap((name) => {
    const chosen = entered[name as keyof typeof optionFields];
    return chosen ? [[name, chosen === 'true'] as const] : [];
  });
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

type OptionalParts = Pick<Payment, 'hasTransfer' | 'hasApplicationFee' | 'transferDestination'>;

/** The options that a payment has. */
export function OptionFields({ hasTransfer, hasApplicationFee, transferDestination }: OptionalParts) {
  const byDefault = ['', 'As the account is set'] as const;
  const choices: Record<string, Choices> = {
    reverseTransfer: [
      byDefault,
      ['false', 'The platform'],
      ['true', `${transferDestination ?? 'The connected account'}, in proportion`],
    ],
    refundApplicationFee: [
      byDefault,
      ['false', 'The platform keeps it'],
      ['true', 'Refund it in proportion'],
    ],
  };
  const only = [
    ...(hasTransfer === true ? ['reverseTransfer'] : []),
    ...(hasApplicationFee === true ? ['refundApplicationFee'] : []),
  ];
  return only.length === 0 ? null : <Fields schema={schema} only={only} choices={choices} />;
}
