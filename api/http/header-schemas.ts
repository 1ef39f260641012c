import { z } from 'zod';

/** Headers that creations and cancellations take. They are read by hand, because a header is never a reason for 500. */
export const idempotentHeadersSchema = z.object({
  'idempotency-key': z
    .string()
    .optional()
    .meta({
      description:
        '1 to 255 visible ASCII characters. The same key with the same request is carried out once, however often it is sent; ' +
        'a creation that is repeated is answered with its refund as it is now.',
    }),
  prefer: z.string().optional().meta({
    description: '`wait=N` waits up to N seconds for the outcome, `respond-async` does not wait (RFC 7240).',
  }),
});

export const waitingHeadersSchema = idempotentHeadersSchema.pick({ prefer: true });
