import type { z } from 'zod';
import { ServiceError } from '#shared/platform/errors.ts';
import { capitalized } from '../words/words.ts';

/** Error messages by field; `form` has those that concern no single field. */
export type FormProblems = Readonly<Record<string, string | undefined>>;

/** A form that was read: its values, or what is wrong with them. */
export type FormReading<T> = { kind: 'valid'; value: T } | { kind: 'invalid'; problems: FormProblems };

/** Validates a submitted form; unknown fields are ignored. */
export function readForm<T>(schema: z.ZodType<T>, body: unknown): FormReading<T> {
  const parsed = schema.safeParse(body ?? {});
  if (parsed.success) return { kind: 'valid', value: parsed.data };
  const problems: Record<string, string> = {};
  for (const { path, message } of parsed.error.issues) {
    const field = path.filter((key) => typeof key === 'string').join('.') || 'form';
    problems[field] ??= message;
  }
  return { kind: 'invalid', problems };
}

/** The submitted text of a field, to be shown again; empty when there is none. */
export function entered(body: unknown, field: string): string {
  const value = typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[field] : '';
  return typeof value === 'string' ? value : '';
}

/** The submitted texts of a field that may occur several times. */
export function enteredList(body: unknown, field: string): string[] {
  const value = ((body ?? {}) as Record<string, unknown>)[field];
  return [value ?? []].flat().filter((each): each is string => typeof each === 'string');
}

/**
 * Converts a client error to a message at its field: `email: must be a valid email address.` belongs to `email`.
 * @param fields the fields that the form shows.
 * @throws the error again when it is a server error.
 */
export function problemsOf(error: unknown, fields: readonly string[]): FormProblems {
  if (!(error instanceof ServiceError) || error.status >= 500) throw error;
  const [, name = '', text = ''] = /^([A-Za-z ]+): (.*)$/s.exec(error.message) ?? [];
  if (!fields.includes(name)) return { form: error.message };
  return { [name]: capitalized(text) };
}

/**
 * The same for validation errors only.
 * @throws the error again when it is any other, such as a missing permission.
 */
export function validationProblemsOf(error: unknown, fields: readonly string[]): FormProblems {
  if (error instanceof ServiceError && error.code === 'validation_error') return problemsOf(error, fields);
  throw error;
}

/** The entries of a form, and what is wrong with them. */
export interface FormState {
  body: unknown;
  problems: FormProblems;
  /** The field that has the focus while nothing is wrong. */
  focus?: string | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The form that was sent, once its page has to be shown again. */
    submitted?: (FormState & { isButton?: boolean }) | null;
  }
}
