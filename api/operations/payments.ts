import { z } from 'zod';
import { refundsOfView, viewPayment } from '#shared/refunds/requests/view-payment.ts';
import { nullableTimeOutput, timeOutput } from './fields.ts';
import { operation } from './operation.ts';
import { whichAccount } from './refund-creation.ts';
import { exampleRefund, failureSchema, refundSchema, transactionIdSchema } from './refund-schemas.ts';

const minorUnits = (description: string) => z.int().nonnegative().describe(description);

const paymentSchema = z
  .object({
    processor: z.string().describe('The payment processor that holds the payment.'),
    transactionId: z.string().describe('The id as it was asked for.'),
    ids: z
      .array(z.string())
      .describe(
        'Every id by which the processor knows the payment, as of a charge and of its payment intent.',
      ),
    amount: z.int().positive().describe('In the smallest unit of the currency.'),
    currency: z.string().describe('ISO 4217, lowercase.'),
    chargedAt: timeOutput('When the payment was made.'),
    refundedOutside: minorUnits(
      'What was refunded without this service, for example in the dashboard of the processor.',
    ),
    reserved: minorUnits(
      'What the refunds of this service come to that have neither failed nor been cancelled.',
    ),
    refunded: minorUnits('The part of `reserved` that is completed.'),
    remaining: minorUnits(
      'What can still be refunded: `amount` without `refundedOutside` and `reserved`; policies and the limits of an agent key may allow less.',
    ),
    hasTransfer: z
      .boolean()
      .describe('Whether a part of it was transferred to a connected account, which a refund can reverse.'),
    hasApplicationFee: z.boolean().describe('Whether the platform took a fee, which a refund can give back.'),
    unrefundable: failureSchema
      .nullable()
      .describe(
        'Why the processor cannot refund the payment at all, for example a chargeback; null when it can.',
      ),
    fetchedAt: nullableTimeOutput(
      'When the payment was read from the processor, whose refunds made elsewhere count up to then. Null when it is read again ' +
        'before the next refund.',
    ),
    refunds: z
      .array(refundSchema)
      .describe(
        `The refunds of this service, whichever id of the payment they name: the newest ${refundsOfView}, newest first.`,
      ),
    hasMore: z
      .boolean()
      .describe('Whether there are older refunds; list them with each of `ids` as `transactionId`.'),
  })
  .meta({
    id: 'Payment',
    description: 'A payment at its processor, and what can still be refunded of it.',
    examples: [
      {
        processor: 'stripe',
        transactionId: 'ch_3QfX2eLkdIwHu7ix',
        ids: ['ch_3QfX2eLkdIwHu7ix', 'pi_3QfX2eLkdIwHu7ix'],
        amount: 10000,
        currency: 'usd',
        chargedAt: '2026-11-19T09:30:00.000Z',
        refundedOutside: 0,
        reserved: 1500,
        refunded: 0,
        remaining: 8500,
        hasTransfer: false,
        hasApplicationFee: false,
        unrefundable: null,
        fetchedAt: '2026-11-20T09:29:59.000Z',
        refunds: [exampleRefund],
        hasMore: false,
      },
    ],
  });

export const getPayment = operation({
  id: 'getPayment',
  route: 'GET /v1/payments/:transactionId',
  scope: 'refunds:read',
  tag: 'Payments',
  summary: 'Get a payment',
  description:
    'What a payment is, its refunds, and what is left to refund. A payment that is not on record is read from its processor; if ' +
    'the processor does not respond, a payment on record is returned as it was at `fetchedAt`.',
  params: z.object({ transactionId: transactionIdSchema }),
  query: z.object(whichAccount),
  asksProcessor: true,
  answer: 'The payment.',
  output: paymentSchema,
  errors: ['processor_error'],
  run: async (deps, { apiKey: { organizationId, environment }, params, query }) =>
    await viewPayment(deps, { organizationId, environment, ...params, ...query }),
});
