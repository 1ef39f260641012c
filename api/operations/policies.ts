import { z } from 'zod';
import {
  maxReplayed,
  policyOutcomes,
  replayPolicies as replay,
  replayedDays,
  toPublicReplay,
} from '#shared/insights/replay.ts';
import { policyUploadSchema } from '#shared/policies/policy-file.ts';
import { listPolicies } from '#shared/policies/stored-policies.ts';
import { examinePayment } from '#shared/refunds/lifecycle/examine.ts';
import { refundStatuses } from '#shared/refunds/model/states.ts';
import { jsonObject, nullableTimeOutput, timeOutput } from './fields.ts';
import { operation } from './operation.ts';
import { creationShape, currencyCode, withAmountOrNone } from './refund-creation.ts';
import { exampleRefund } from './refund-schemas.ts';

const { options: _options, ...checkedShape } = creationShape;

/** The fields of a creation but its options, all but the payment optional. */
export const checkPolicySchema = withAmountOrNone(
  jsonObject({
    ...checkedShape,
    remaining: creationShape.remaining.describe(
      'True in place of `amount` to check all that is left of the payment.',
    ),
    reason: creationShape.reason
      .optional()
      .describe(
        'Why the payment would be refunded. Without it, policies that match on reasons do not match.',
      ),
    currency: currencyCode
      .optional()
      .meta({ description: 'ISO 4217; must be the currency of the payment, if given.', examples: ['usd'] }),
    metadata: creationShape.metadata.meta({
      description:
        'What would be stored with the refund. Without it, policies that match on metadata do not match.',
      examples: [{ ticket: 'T-1001' }],
    }),
  }),
).meta({
  examples: [
    { transactionId: 'ch_3QfX2eLkdIwHu7ix', amount: 1500, reason: 'product_defective' },
    { transactionId: 'ch_3QfX2eLkdIwHu7ix' },
  ],
});

const policyCheckSchema = z
  .object({
    eligible: z.boolean().describe('Whether the payment, or the requested amount, may be refunded.'),
    reason: z.string().describe('Why, for people.'),
    maxAmount: z
      .int()
      .nullable()
      .describe(
        'The most that can be refunded now, in the smallest unit; 0 when nothing is left, null when no amount can be ' +
          'refunded, for example because the window has closed.',
      ),
    deadline: nullableTimeOutput('The deadline for requesting a refund; null when there is none.'),
    conditions: z.array(z.string()).describe('The conditions that apply to this payment, for people.'),
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
  route: 'POST /v1/policies/check',
  scope: 'policies:read',
  tag: 'Policies',
  summary: 'Check refund eligibility',
  description:
    "Evaluates the organization's policies and the limits of the key for a refund with these fields, as a creation does, and creates " +
    'nothing. An ineligible payment also gets a 200 response.',
  body: checkPolicySchema,
  asksProcessor: true,
  answer: 'The result, also for an ineligible payment.',
  output: policyCheckSchema,
  errors: ['processor_error'],
  async run(deps, { apiKey, actor, source, body }) {
    const { organizationId, environment } = apiKey;
    const { transactionId, processor, account, connectedAccount, currency } = body;
    const { amount, remaining, reason = null, metadata = null } = body;
    const given = amount === undefined ? null : BigInt(amount);
    const { verdict } = await examinePayment(deps, {
      ...{ organizationId, environment, apiKey, actor, transactionId, processor, account, connectedAccount },
      currency: currency?.toLowerCase(),
      request: { amount: remaining ? 'remaining' : given, reason, metadata, initiatedBy: source },
    });
    const { eligible, maxAmount, deadline, conditions } = verdict;
    return {
      eligible,
      reason: verdict.reason,
      maxAmount: maxAmount === null ? null : Number(maxAmount),
      deadline: deadline?.toISOString() ?? null,
      conditions,
    };
  },
});

const outcomeSchema = z
  .enum(policyOutcomes)
  .describe(
    '`blocked`: no refund is created. `approval_required`: it awaits approval. `not_blocked`: the policy denies it, but does not ' +
      'block refunds that are requested this way.',
  );

const outcomeCounts = (description: string) =>
  z
    .object({ allowed: z.int(), not_blocked: z.int(), approval_required: z.int(), blocked: z.int() })
    .describe(`How many refunds come to each outcome ${description}.`);

const exampleOutcomes = { allowed: 355, not_blocked: 0, approval_required: 0, blocked: 0 };

const replaySchema = z
  .object({
    from: timeOutput('The refunds that were created since then are evaluated.'),
    to: timeOutput('When the replay began.'),
    refundCount: z.int().describe('How many refunds were evaluated.'),
    skippedCount: z
      .int()
      .describe('How many were left out, because their payment was never read from the processor.'),
    isCutOff: z
      .boolean()
      .describe(`True when there are more than ${maxReplayed}, so that older ones were left out.`),
    current: outcomeCounts('by the policies of today'),
    proposed: outcomeCounts('by the given policies'),
    changedCount: z.int().describe('How many come to another outcome than by the policies of today.'),
    refunds: z
      .array(
        z.object({
          id: z.string().describe('The id of the refund, ref_...'),
          transactionId: z.string().describe('The id of the charge or payment.'),
          amount: z.int().describe('In the smallest unit of the currency.'),
          currency: z.string().describe('ISO 4217, lowercase.'),
          status: z.enum(refundStatuses).describe('The status of today.'),
          createdAt: timeOutput(),
          current: outcomeSchema,
          proposed: outcomeSchema,
          policy: z.string().nullable().describe('The given policy that decides; null when none matches.'),
          reason: z.string().describe('Its decision, for people.'),
        }),
      )
      .describe(
        'The refunds that change, then others that are blocked, each the newest first; up to 100 of them.',
      ),
    unknown: z.array(z.string()).describe('What a replay cannot know, for people.'),
  })
  .meta({
    id: 'PolicyReplay',
    examples: [
      {
        ...{ from: '2026-08-26T09:30:00.000Z', to: '2026-11-24T09:30:00.000Z' },
        ...{ refundCount: 355, skippedCount: 0, isCutOff: false, changedCount: 12 },
        current: exampleOutcomes,
        proposed: { ...exampleOutcomes, allowed: 343, blocked: 12 },
        refunds: [
          {
            id: exampleRefund.id,
            transactionId: exampleRefund.transactionId,
            ...{ amount: 1500, currency: 'usd', status: 'completed', createdAt: exampleRefund.createdAt },
            ...{ current: 'allowed', proposed: 'blocked', policy: 'Two weeks' },
            reason:
              'The refund window of 14 days under the policy "Two weeks" closed on 2026-11-18T12:00:00.000Z. Ask an administrator of the organization for an exception.',
          },
        ],
        unknown: ['Requests that were refused at the time are not on record, so they are not replayed.'],
      },
    ],
  });

export const replayPolicies = operation({
  id: 'replayPolicies',
  route: 'POST /v1/policies/replay',
  scope: 'policies:read',
  // It names refunds, and which of them a policy matches tells their metadata.
  alsoNeeds: 'refunds:read',
  tag: 'Policies',
  summary: 'Replay policies',
  description:
    `Evaluates policies that are not saved for the refunds of the last ${replayedDays} days in the environment of the key, each as ` +
    'it was when it was created, beside the policies of today. Nothing is changed.',
  body: policyUploadSchema.meta({
    ...policyUploadSchema.meta(),
    examples: [
      {
        policies: [
          { name: 'Two weeks', priority: 1, windowDays: 14, enforce: { api: true, dashboard: true } },
        ],
      },
    ],
  }),
  answer: 'What the policies come to.',
  output: replaySchema,
  async run(deps, { apiKey, body: { policies: proposed } }) {
    const current = await listPolicies(deps.db, apiKey.organizationId);
    return toPublicReplay(await replay(deps, apiKey, { current, proposed }));
  },
});
