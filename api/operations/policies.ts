import { z } from 'zod';
import { examinePayment } from '#shared/refunds/lifecycle/decide.ts';
import { jsonObject, nullableTimeOutput } from './fields.ts';
import { operation } from './operation.ts';
import { amountSchema, transactionIdSchema } from './refund-schemas.ts';

export const checkPolicySchema = jsonObject({
  transactionId: transactionIdSchema,
  amount: amountSchema.optional(),
}).meta({ examples: [{ transactionId: 'ch_3QfX2eLkdIwHu7ix', amount: 1500 }] });

const policyCheckSchema = z
  .object({
    eligible: z
      .boolean()
      .meta({ description: 'Whether the payment, or the requested amount, may be refunded.' }),
    reason: z.string().meta({ description: 'Why, for people.' }),
    maxAmount: z
      .int()
      .nullable()
      .meta({
        description:
          'The most that can be refunded now, in the smallest unit; 0 when nothing is left, null when no amount can be ' +
          'refunded, for example because the window has closed.',
      }),
    deadline: nullableTimeOutput('The deadline for requesting a refund; null when there is none.'),
    conditions: z
      .array(z.string())
      .meta({ description: 'The conditions that apply to this payment, for people.' }),
  })
  .meta({
    id: 'PolicyCheck',
    examples: [
      {
        eligible: true,
        reason: 'The payment can be refunded.',
        maxAmount: 10000,
        deadline: '2026-12-19T09:30:00.000Z',
        conditions: ['Refunds are possible within 30 days of the payment.'],
      },
    ],
  });

export const checkPolicy = operation({
  id: 'checkPolicy',
  method: 'POST',
  path: '/v1/policies/check',
  scope: 'policies:read',
  tag: 'Policies',
  summary: 'Check refund eligibility',
  description: "Evaluates the organization's policies. An ineligible payment also gets a 200 response.",
  body: checkPolicySchema,
  answer: 'The result, also for an ineligible payment.',
  output: policyCheckSchema,
  errors: ['processor_error'],
  async run(deps, { apiKey, actor, source, body: { transactionId, amount } }) {
    const { organizationId, environment } = apiKey;
    const asked = amount === undefined ? null : BigInt(amount);
    const { verdict } = await examinePayment(deps, {
      ...{ organizationId, environment, apiKey, actor, transactionId },
      request: { amount: asked, reason: null, metadata: null, initiatedBy: source },
    });
    const { eligible, reason, maxAmount, deadline, conditions } = verdict;
    return {
      eligible,
      reason,
      maxAmount: maxAmount === null ? null : Number(maxAmount),
      deadline: deadline?.toISOString() ?? null,
      conditions,
    };
  },
});
