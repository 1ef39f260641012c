import { z } from 'zod';
import type { Dependencies } from '#shared/dependencies.ts';
import { policyDecisionOf, readDecision } from '#shared/policies/decision.ts';
import { canBeCancelled } from '#shared/refunds/lifecycle/cancel.ts';
import { arrivalOf } from '#shared/refunds/model/arrival.ts';
import { customerMessages } from '#shared/refunds/model/customer-message.ts';
import { textsInForce } from '#shared/refunds/model/customer-texts.ts';
import { heldUntilOf, toFailure, toPublicRefund } from '#shared/refunds/model/refund.ts';
import { type Waiting, waitingOf } from '#shared/refunds/model/waiting.ts';
import type { RefundReading, RefundReads } from '#shared/refunds/queries/find-refunds.ts';
import { nullableTimeOutput } from './fields.ts';
import {
  arrivalSchema,
  exampleRefund,
  failureSchema,
  policyDecisionSchema,
  refundAccountSchema,
  refundOptionsSchema,
  refundSchema,
  waitingSchema,
} from './refund-schemas.ts';

const includable = [
  ...['failure', 'cancellable', 'arrival', 'policy', 'heldUntil', 'waiting', 'account', 'options', 'message'],
];

/** The fields to add to each refund: repeated, separated by commas, or both. */
export const include = z
  .union([z.string(), z.array(z.string())])
  .transform((given) => [given].flat().flatMap((text) => text.split(',')))
  .refine((given) => given.every((one) => includable.includes(one)), {
    error: `must be some of: ${includable.join(', ')}; repeat it or separate them by commas`,
  })
  .optional()
  .meta({
    description: 'Fields to add to each refund. Repeat the parameter, or separate the fields by commas.',
    anyOf: undefined,
    type: 'array',
    items: { type: 'string', enum: includable },
    style: 'form',
    explode: true,
    examples: [includable],
  });

export const detailedRefundSchema = refundSchema
  .extend({
    failure: failureSchema
      .nullable()
      .optional()
      .describe('With `include=failure`: why the refund failed; null for any other status.'),
    cancellable: z
      .boolean()
      .optional()
      .describe('With `include=cancellable`: whether a cancellation sent now can succeed.'),
    arrival: arrivalSchema
      .nullable()
      .optional()
      .describe(
        "With `include=arrival`: when the money reaches the customer's bank, and what it is known by there; null unless the " +
          'processor has accepted the refund, and when it failed or was cancelled.',
      ),
    policy: policyDecisionSchema
      .nullable()
      .optional()
      .describe(
        'With `include=policy`: the policy that decided when the refund was created; null when none matched, when the ' +
          'payment was not known yet, and for refunds that were created before decisions were kept.',
      ),
    heldUntil: nullableTimeOutput(
      'With `include=heldUntil`: until when a policy holds the refund before it is sent. A cancellation before then succeeds. Null ' +
        'for a refund that is not held, also while it awaits approval: the hold begins with the approval.',
    ).optional(),
    waiting: waitingSchema
      .nullable()
      .optional()
      .describe(
        'With `include=waiting`: why the refund is not moving; null when it has ended, and while nothing keeps it from being sent.',
      ),
    account: refundAccountSchema
      .optional()
      .describe('With `include=account`: the account that holds the payment.'),
    options: refundOptionsSchema
      .nullable()
      .optional()
      .describe(
        'With `include=options`: what goes with the refund, also by default of its account; null for nothing.',
      ),
    message: z
      .record(z.string(), z.string())
      .nullable()
      .optional()
      .describe(
        'With `include=message`: what to tell the customer, by language, such as en or pt-BR; null for a refund that awaits approval, ' +
          'failed, was cancelled, is flagged, or is being cancelled.',
      ),
  })
  .meta({
    id: 'DetailedRefund',
    description: 'A refund, with the fields that were asked for.',
    examples: [
      exampleRefund,
      {
        ...exampleRefund,
        ...{ failure: null, cancellable: false },
        policy: { name: 'Default 30-day policy', decision: 'not_blocked' },
        waiting: { reason: 'settlement', since: '2026-11-20T09:30:01.000Z', until: null },
      },
    ],
  });

type DetailedRefund = z.output<typeof detailedRefundSchema>;

/** Refunds with the fields that were asked for. What was decided is read only when it was. */
export async function withIncluded(
  {
    clock,
    refundReads,
  }: Pick<Dependencies, 'clock'> & {
    refundReads: Pick<RefundReads, 'decision' | 'account' | 'customerTexts'>;
  },
  refunds: readonly RefundReading[],
  included: readonly string[] = [],
): Promise<DetailedRefund[]> {
  const now = clock.now();
  const has = (field: string) => included.includes(field);
  const decisions = has('policy') ? await Promise.all(refunds.map(({ id }) => refundReads.decision(id))) : [];
  const accounts = has('account')
    ? await Promise.all(refunds.map(({ accountId }) => refundReads.account(accountId)))
    : [];
  // All refunds of an answer belong to the organization of one API key.
  const [{ organizationId = '' } = {}] = refunds;
  const messages =
    has('message') && customerMessages(textsInForce(await refundReads.customerTexts(organizationId)));
  return refunds.map((refund, index) => ({
    ...toPublicRefund(refund),
    ...(has('failure') && { failure: refund.status === 'failed' ? toFailure(refund) : null }),
    // Nothing cancels what awaits approval at the processor.
    ...(has('cancellable') && {
      cancellable: canBeCancelled(refund) && refund.approvalRequestedAt === null,
    }),
    ...(has('arrival') && { arrival: arrivalOf(refund, refund.waitingFor) }),
    ...(has('policy') && { policy: policyDecisionOf(readDecision(decisions[index])) }),
    ...(has('heldUntil') && { heldUntil: heldUntilOf(refund, now)?.toISOString() ?? null }),
    ...(has('waiting') && {
      waiting: toPublicWaiting(waitingOf(refund, refund, refund.recoveryRequiredSince, now)),
    }),
    ...(has('account') && { account: accounts[index] }),
    ...(has('options') && { options: refund.options as z.output<typeof refundOptionsSchema> | null }),
    ...(messages && { message: messages(refund, refund) }),
  }));
}

function toPublicWaiting(waiting: Waiting | null): z.output<typeof waitingSchema> | null {
  if (waiting === null) return null;
  const { reason, since, until } = waiting;
  return { reason, since: since.toISOString(), until: until?.toISOString() ?? null };
}
