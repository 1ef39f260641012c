import { z } from 'zod';
import type { Environment } from '../../platform/environment.ts';
import { type CredentialField, InvalidCredentialsError } from './processor.ts';

/** A credential: printable text without blanks, which catches copying mistakes before the processor does. */
export const secretText = z
  .string('is required')
  .regex(/^[\x21-\x7e]{1,255}$/, 'has to be 1 to 255 characters without blanks')
  .refine((text) => !text.endsWith('...'), 'is the placeholder of an example; enter the real one');

/** What a form says about a credential, kept with its schema. */
export const credentialForms = z.registry<Omit<CredentialField, 'name' | 'isRequired'>>();

/** Another address than the processor's own; see `readApiBase`. */
export const apiBaseInput = z.string('has to be a URL').optional().register(credentialForms, {
  label: 'Address of the API',
  type: 'address',
  hint: "Leave it empty for the processor's own. For a sandbox: scheme, host and port.",
});

/**
 * The fields of a credentials schema, in its order.
 * @throws TypeError for a field that is not in `credentialForms`.
 */
export function credentialFieldsOf({ shape }: z.ZodObject): CredentialField[] {
  return Object.entries(shape).map(([name, field]) => {
    const form = credentialForms.get(field);
    if (form === undefined) throw new TypeError(`${name} has no form.`);
    return { name, isRequired: !z.safeParse(field, undefined).success, ...form };
  });
}

/** @throws InvalidCredentialsError naming the first invalid field, never its value. */
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
 * The processor's address: the given one, else the processor's own for the environment.
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

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}

/** True for a client secret of Stripe, such as `pi_1_secret_2`. It is a credential: it allows to confirm the payment. */
export function isClientSecret(text: string): boolean {
  return text.includes('_secret_');
}
