import type { z } from 'zod';

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
