import { createHash } from 'node:crypto';
import type { Account, Answer, Call } from '../exchange.ts';
import type { Cause } from '../ledger/state.ts';
import { errorAnswer, forbiddenAnswer } from './errors.ts';

/** A Stripe call that passed its credentials. */
export interface StripeRequest {
  account: Account;
  call: Call;
  cause: Cause;
  /** The id in the path, '' where there is none. */
  id: string;
  /** Body of a POST, query of a GET. */
  form: Form;
}

/** The secret key is the account, as in Stripe; curl may send it as a basic user name. */
export function authenticate(call: Call): Account | Answer {
  const key = secretKeyOf(call.headers.authorization);
  if (key === null) {
    return errorAnswer(401, { type: 'invalid_request_error', message: 'You did not provide an API key.' });
  }
  const mode = /^sk_(test|live)_\w+$/.exec(key)?.[1];
  if (mode === undefined || key.includes('invalid')) {
    const shown = `${key.slice(0, 8)}***${key.slice(-4)}`;
    return errorAnswer(401, { type: 'invalid_request_error', message: `Invalid API Key provided: ${shown}` });
  }
  if (key.includes('forbidden')) {
    return forbiddenAnswer();
  }
  const digest = createHash('sha256').update(key).digest('hex').slice(0, 16);
  return { environment: mode === 'live' ? 'live' : 'test', id: `stripe_${digest}` };
}

function secretKeyOf(authorization: string | undefined): string | null {
  const [scheme, value] = (authorization ?? '').split(' ');
  if (!value) return null;
  if (scheme?.toLowerCase() === 'bearer') return value;
  if (scheme?.toLowerCase() !== 'basic') return null;
  return Buffer.from(value, 'base64').toString('utf8').split(':')[0] || null;
}

/** A decoded form: `amount=5&metadata[a]=b` is `{values: {amount: '5'}, nested: {metadata: {a: 'b'}}}`. */
export interface Form {
  values: Record<string, string>;
  nested: Record<string, Record<string, string>>;
}

export function parseForm(encoded: string | URLSearchParams): Form {
  const form: Form = { values: {}, nested: {} };
  let unnamed = 0;
  for (const [name, value] of new URLSearchParams(encoded)) {
    const brackets = /^([^[]+)\[(.*)\]$/.exec(name);
    const [, outer, inner] = brackets ?? [];
    if (outer === undefined || inner === undefined) {
      form.values[name] = value;
      continue;
    }
    // `expand[]=x` has no inner name; number those.
    form.nested[outer] = { ...form.nested[outer], [inner === '' ? String(unnamed++) : inner]: value };
  }
  return form;
}

/** The same parameters in another order are the same request. */
export function canonicalForm(encoded: string): string {
  const pairs = [...new URLSearchParams(encoded)].sort(
    ([a, x], [b, y]) => a.localeCompare(b) || x.localeCompare(y),
  );
  return new URLSearchParams(pairs).toString();
}
