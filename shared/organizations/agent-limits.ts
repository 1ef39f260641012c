import { z } from 'zod';
import { currencySchema, minorUnits } from '../money/amount-schemas.ts';
import { refundReasons } from '../refunds/model/reasons.ts';

/**
 * What an agent may refund with its key. Limits are inclusive and in minor units of `currency`; refunds in another currency
 * are refused. What is left out does not limit.
 */
export const agentLimitsSchema = z.strictObject(
  {
    currency: currencySchema,
    maxPerRefund: minorUnits(1).optional(),
    /** All refunds of one payment together, whoever requested them. */
    maxPerPayment: minorUnits(1).optional(),
    /** The refunds that this key requested in the last 24 hours. */
    maxPerDay: minorUnits(1).optional(),
    reasons: z
      .array(z.enum(refundReasons, { error: `must be one of: ${refundReasons.join(', ')}` }), {
        error: 'must be a list of reasons',
      })
      .min(1, { error: 'must contain at least one reason' })
      .optional(),
    /** More than this, for all refunds of one payment together, requires approval. */
    approvalAbove: minorUnits(0).optional(),
  },
  { error: 'must be an object with at least a currency' },
);

export type AgentLimits = z.output<typeof agentLimitsSchema>;
