import { createHash } from 'node:crypto';
import type { Account, Answer, Call } from '../exchange.ts';
import { errorAnswer, forbiddenAnswer } from './errors.ts';

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
