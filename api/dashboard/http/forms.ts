import type { z } from 'zod';
import { ServiceError } from '../../../shared/platform/errors.ts';

/** What is wrong with what was entered, by field; under `form` what concerns no single one. */
export type FormProblems = Readonly<Record<string, string | undefined>>;

/** What somebody entered: the values to go on with, or what has to be mended. */
export type FormReading<T> = { kind: 'valid'; value: T } | { kind: 'invalid'; problems: FormProblems };

/** Reads a form as it was sent. Fields that the schema does not know are left alone. */
export function readForm<T>(schema: z.ZodType<T>, body: unknown): FormReading<T> {
  const parsed = schema.safeParse(body ?? {});
  if (parsed.success) return { kind: 'valid', value: parsed.data };
  const problems: Record<string, string> = {};
  for (const { path, message } of parsed.error.issues) {
    const field = path[0]?.toString() ?? 'form';
    problems[field] ??= message;
  }
  return { kind: 'invalid', problems };
}

/** The text that was entered in a field, to be shown again; the empty text when there is none. */
export function entered(body: unknown, field: string): string {
  const value = typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[field] : '';
  return typeof value === 'string' ? value : '';
}

/**
 * A refusal of the service as something that can be mended in the form: `email: not an e-mail address.` belongs to its field.
 * @param fields those that the form shows.
 * @throws the error again when it is nothing that another entry could mend.
 */
export function problemsOf(error: unknown, fields: readonly string[]): FormProblems {
  if (!(error instanceof ServiceError) || error.status >= 500) throw error;
  const [, name = '', text = ''] = /^([A-Za-z]+): (.*)$/s.exec(error.message) ?? [];
  if (!fields.includes(name)) return { form: error.message };
  return { [name]: `${text.charAt(0).toUpperCase()}${text.slice(1)}` };
}
