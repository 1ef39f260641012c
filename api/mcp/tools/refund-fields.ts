import { z } from 'zod';
import { objectError, refundSchema, required } from '../../routes/refunds/refund-schema.ts';

/** The arguments of a tool for one refund. */
export const refundIdInput = z.strictObject(
  {
    refundId: z
      .string({ error: required('must be a string') })
      .meta({ description: "The refund's id, which begins with ref_." }),
  },
  { error: objectError },
);

export const refundOutput = z.object({ refund: refundSchema });
