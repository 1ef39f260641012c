import { z } from 'zod';
import type { Environment } from '../environment.ts';
import { InvalidCredentialsError } from './processor.ts';

/** A credential: text without blanks, so that a careless copy is noticed here and not as an error of the processor. */
export const secretText = z
  .string('is required')
  .regex(/^[\x21-\x7e]{1,255}$/, 'has to be 1 to 255 characters without blanks')
  .refine((text) => !text.endsWith('...'), 'is the placeholder of an example; put the real one in its place');

/**
 * Reads credentials that a person supplied.
 * @throws InvalidCredentialsError naming the first bad field, never its value.
 */
export function readCredentials<T>(schema: z.ZodType<T>, input: unknown): T {
  const checked = schema.safeParse(input);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  if (issue?.code === 'unrecognized_keys') {
    throw new InvalidCredentialsError(`${issue.keys.join(', ')}: there is no such credential.`);
  }
  const field = issue?.path.join('.') || 'credentials';
  throw new InvalidCredentialsError(`${field}: ${issue?.message ?? 'not valid'}.`);
}

/**
 * Where to find the processor: the given address, else the processor's own for the environment.
 * @returns scheme, host and port.
 * @throws InvalidCredentialsError for an address that credentials must not be sent to.
 */
export function readApiBase(
  apiBase: string | undefined,
  environment: Environment,
  own: Readonly<Record<Environment, string>>,
): string {
  if (apiBase === undefined) return own[environment];
  const url = URL.canParse(apiBase) ? new URL(apiBase) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new InvalidCredentialsError('apiBase: has to be an http or https URL.');
  }
  if (url.username || url.password || url.pathname !== '/' || url.search || url.hash) {
    throw new InvalidCredentialsError('apiBase: has to be a scheme, a host and a port, and nothing else.');
  }
  if (environment === 'live' && url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw new InvalidCredentialsError('apiBase: live credentials are sent over https only.');
  }
  const other = environment === 'live' ? own.test : own.live;
  if (url.origin === other && other !== own[environment]) {
    throw new InvalidCredentialsError(`apiBase: does not belong to the ${environment} environment.`);
  }
  return url.origin;
}

/** Nothing leaves the machine on the way to a loopback address. */
function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}
