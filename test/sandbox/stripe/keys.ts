import { createHash } from 'node:crypto';
import { type Account, type Answer, type Call, scopeOf } from '../exchange.ts';
import { type Ledger, mayNotExist } from '../ledger.ts';
import { errorAnswer } from './answers.ts';

/** Stripe's name without the prefix `rak_`. */
export type Permission =
  | 'accounts_kyc_basic_read'
  | 'charge_read'
  | 'payment_intent_read'
  | 'checkout_session_read'
  | 'invoice_read'
  | 'dispute_read'
  | 'refund_read'
  | 'refund_write';

export const CONNECTED_ACCOUNT = /^acct_[A-Za-z0-9_]+$/;

const WRITE_OF: Readonly<Partial<Record<Permission, Permission>>> = { refund_read: 'refund_write' };

/**
 * The account of a key, which curl may send as a basic user name, or the answer that refuses the key.
 * @param needed what a restricted key has to permit.
 */
export function accountOf(call: Call, ledger: Ledger, needed: Permission | null): Account | Answer {
  const [scheme, value = ''] = (call.headers.authorization ?? '').split(' ');
  const key = scheme === 'Basic' ? Buffer.from(value, 'base64').toString('utf8').split(':')[0] : value;
  const [, kind, mode, name = ''] = /^(sk|rk)_(test|live)_(\w+)$/.exec(key ?? '') ?? [];
  if (key === undefined || mode === undefined || key.includes('invalid')) {
    return errorAnswer(401, { message: `Invalid API Key provided: ${(key ?? '').slice(0, 8)}***` });
  }
  const digest = createHash('sha256').update(key).digest('hex').slice(0, 16);
  if (key.includes('forbidden')) return refusedKey(key, digest, 'account_read');
  if (kind === 'rk' && needed !== null && !permits(name, needed)) return refusedKey(key, digest, needed);
  const account: Account = {
    ...{ environment: mode === 'live' ? 'live' : 'test', id: `stripe_${digest}` },
    account: name.split('_at_', 2)[1],
  };
  const connected = call.headers['stripe-account'];
  if (connected === undefined) return account;
  if (typeof connected !== 'string' || !isConnected(ledger, account, connected)) {
    noteMisdirected(ledger, account, call, needed);
    return unconnected(key, String(connected));
  }
  return { ...account, id: `${account.id}/${connected}`, connectedAccount: connected };
}

/** Every account of plausible form is, to the account that had a payment of it first, until the control API ends that. */
function isConnected(ledger: Ledger, account: Account, id: string): boolean {
  if (!CONNECTED_ACCOUNT.test(id) || mayNotExist(id)) return false;
  return ledger.isPlatformOf(account, id) && ledger.connectedAccount(account, id).isConnected;
}

/** Whose a connected account is, is found by asking for a payment; see `exchange`. */
function noteMisdirected(ledger: Ledger, account: Account, call: Call, needed: Permission | null): void {
  const { method, path, headers } = call;
  const connectedAccount = String(headers['stripe-account']);
  if (!needed?.startsWith('refund_') || ledger.isPlatformOf(account, connectedAccount)) return;
  const scope = { ...scopeOf(account), processor: 'stripe', connectedAccount };
  ledger.misdirected.push({ ...scope, call: `${method} ${path}` });
}

/** In these words, with 403, Stripe refuses an account that it does not know as well as one that has disconnected. */
function unconnected(key: string, account: string): Answer {
  const message = `The provided key '${maskedKey(key)}' does not have access to account '${account}' (or that account does not exist). Application access may have been revoked.`;
  return errorAnswer(403, { code: 'account_invalid', message });
}

/** A restricted key names what it permits, or after `without_` what it does not. Who may write may read. */
function permits(name: string, needed: Permission): boolean {
  if (!name.startsWith('without_')) return name.includes(needed) || name.includes(WRITE_OF[needed] ?? needed);
  const read = needed.replace('_write', '_read');
  return !name.includes(needed) && !name.includes(read);
}

function refusedKey(key: string, digest: string, permission: string): Answer {
  return errorAnswer(403, { message: missingPermission(maskedKey(key), digest, permission) });
}

function maskedKey(key: string): string {
  return `${key.slice(0, 8)}${'*'.repeat(Math.max(0, key.length - 14))}${key.slice(-6)}`;
}

export function missingPermission(masked: string, account: string, permission: string): string {
  const missing = `The provided key '${masked}' does not have the required permissions for this endpoint on account 'acct_${account}'.`;
  return `${missing} Having the 'rak_${permission}' permission would allow this request to continue.`;
}
