import { typeid } from 'typeid-js';

const prefixes = [
  'org',
  'usr',
  'key',
  'acc',
  'ref',
  'evt',
  'pol',
  'aud',
  'rec',
  'fin',
  'ses',
  'inv',
  'we',
  'del',
  'wrk',
  'bat',
  'chn',
  'req',
] as const;

/**
 * Organization, user, API key, processor account, refund, event, policy, audit log entry, processor event, reconciliation run,
 * reconciliation finding, session, invitation, webhook endpoint, webhook delivery, worker, refund batch,
 * notification channel, HTTP request.
 */
export type IdPrefix = (typeof prefixes)[number];

/** A new TypeID: the prefix, an underscore and a UUIDv7 in base 32 (26 characters). Ids are time-ordered and opaque. */
export function newId(prefix: IdPrefix): string {
  return typeid(prefix).toString();
}

/** True for text in the format of an id with this prefix. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && /^[0-9a-z]{26}$/.test(text.slice(prefix.length + 1));
}

/** The id of an HTTP request, in its response and the log. */
export function newRequestId(): string {
  return newId('req');
}
