import { z } from 'zod';

/** An id or a status that a processor gives and that goes on record. */
export const recordedId = z.string().regex(/^[A-Za-z0-9_-]{1,255}$/);
export const recordedStatus = z.string().regex(/^[\x20-\x7e]{1,100}$/);

/**
 * The processor replied something that is not what was asked for. SDKs pass such replies on as a success, so every
 * reply is checked for what the service relies on.
 */
export class UnexpectedAnswerError extends Error {
  override readonly name = 'UnexpectedAnswerError';
}

/**
 * Checks a reply.
 * @throws UnexpectedAnswerError naming the fields that are not as they should be, without their values.
 */
export function readAnswer<T>(schema: z.ZodType<T>, reply: unknown): T {
  const checked = schema.safeParse(reply);
  if (checked.success) return checked.data;
  const fields = checked.error.issues.map(({ path }) => path.join('.') || 'the reply');
  throw new UnexpectedAnswerError(`The processor's answer is not as documented: ${fields.join(', ')}.`);
}
