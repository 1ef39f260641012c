import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { ServiceError } from '#shared/platform/errors.ts';

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
    const field = path[0]?.toString() ?? 'form';
    problems[field] ??= message;
  }
  return { kind: 'invalid', problems };
}

/**
 * Reads a form that offers only valid choices.
 * @throws ServiceError validation_error for anything else.
 */
export function readChoices<T>(schema: z.ZodType<T>, body: unknown): T {
  const reading = readForm(schema, body);
  if (reading.kind === 'valid') return reading.value;
  throw new ServiceError('validation_error', 'This form is incomplete. Reload the page and try again.');
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

/** A text with a capital letter at the start. */
export function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/**
 * The same for validation errors only.
 * @throws the error again when it is any other, such as a missing permission.
 */
export function validationProblemsOf(error: unknown, fields: readonly string[]): FormProblems {
  if (error instanceof ServiceError && error.code === 'validation_error') return problemsOf(error, fields);
  throw error;
}

/** A form as it was submitted, to be shown again; for a new one, what it starts with. */
export interface FormState {
  body: unknown;
  problems: FormProblems;
}

/** The fields of a form, by name. */
export type FormSchema<T> = z.ZodType<T> & { shape: object };

interface FormAnswers<T> {
  schema: FormSchema<T>;
  /** Carries out what the form asks for. */
  run: (entries: T) => Promise<FastifyReply>;
  /** Shows the form again, with what is wrong; without it, that is an error page. */
  again?: ((form: FormState) => FastifyReply | Promise<FastifyReply>) | undefined;
  /** The errors that are shown in the form. */
  problemsIn?: typeof problemsOf;
}

/** Responds to a form: reads it and carries it out, or shows it again with the problems at their fields. */
export async function answerForm<T>(
  reply: FastifyReply,
  { schema, run, again, problemsIn = validationProblemsOf }: FormAnswers<T>,
): Promise<FastifyReply> {
  const { body } = reply.request;
  if (again === undefined) return await run(readChoices(schema, body));
  const refuse = (problems: FormProblems) => {
    reply.code(400);
    return again({ body, problems });
  };
  const form = readForm(schema, body);
  if (form.kind === 'invalid') return await refuse(form.problems);
  try {
    return await run(form.value);
  } catch (error) {
    return await refuse(problemsIn(error, Object.keys(schema.shape)));
  }
}
