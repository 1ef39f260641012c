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
  'pev',
  'rec',
  'fin',
  'ses',
  'inv',
] as const;

/**
 * The kinds of things that have an id: organization, user, key, account, refund, event, policy, audit entry, processor
 * event, reconciliation, finding of one, session of the dashboard, invitation.
 */
export type IdPrefix = (typeof prefixes)[number];

/**
 * A new id: the prefix, an underscore and 26 letters and digits. Ids are time-ordered and opaque.
 * They are TypeIDs: a UUIDv7 in Crockford's base 32.
 */
export function newId(prefix: IdPrefix): string {
  return typeid(prefix).toString();
}

/** True for what has the shape of an id of this kind. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && /^[0-9a-z]{26}$/.test(text.slice(prefix.length + 1));
}

/** An id for one HTTP request, in its answer and in the log. */
export function newRequestId(): string {
  return typeid('req').toString();
}
