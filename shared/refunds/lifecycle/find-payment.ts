import {
  type KnownPayment,
  type PaymentFacts,
  type PaymentKey,
  readFacts,
  type StoredPayment,
} from '../../payments/payment.ts';
import type { Database, Payment } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { AccountName } from '../../processors/accounts/account.ts';
import {
  type AccountQuestion,
  type AccountsSetUp,
  chooseAccount,
} from '../../processors/accounts/choose-account.ts';
import { isUnused, noteUse } from '../../processors/accounts/connected-accounts.ts';
import type { ProcessorReads } from '../../processors/accounts/read-payment.ts';
import type { ProcessorPayment } from '../../processors/contract/processor.ts';
import { displayNameOf } from '../../processors/registry.ts';
import { knownUnrecorded, recordKnown } from '../changes/record-payment.ts';
import { notConnected, refusedCredentials, unreadableAnswer } from '../model/refusals.ts';
import type { CountedKey, KeySum, Lookups } from './lookups.ts';

/** A payment to find, by any of its ids. Its account is detected as far as the question does not name it. */
export type PaymentQuestion = AccountQuestion;

/**
 * What is stored of a payment that is read. `creation`: a new one is stored with its refund. `view`: a new one is not stored.
 * `dry run`: nothing is. `check`: a new one is. Except by a dry run, a stored payment is brought up to date.
 */
export type Purpose = 'creation' | 'view' | 'dry run' | 'check';

/** What is known of a payment. */
export interface FoundPayment {
  account: AccountName;
  stored: StoredPayment & KeySum;
  found: PaymentFacts;
  /** Null when its processor does not have it, cannot refund it (except for a view), or is unreachable while nothing is stored. */
  payment: KnownPayment | null;
}

/** What else a payment is needed for than to see it. */
interface Use {
  /** The key whose refunds of the last 24 hours are summed up as well. */
  counted?: CountedKey | null;
  /** How long a reading counts as fresh, if for less than usual. */
  freshMs?: number | undefined;
}

/** What finds a payment, and records what its processor says of it, needs. */
export interface PaymentDependencies extends ProcessorReads {
  db: Database;
  lookups: Lookups;
}

/**
 * Chooses the account of a payment, and reads the payment at its processor unless it is stored and fresh. A connected account is stored on
 * its first use for what is stored.
 * @returns null when no account has the payment.
 * @throws ServiceError as `chooseAccount` does; for a connected account that was never used, validation_error when it is refused and
 * service_unavailable while it cannot be read.
 */
export async function findPayment(
  deps: PaymentDependencies,
  setUp: AccountsSetUp,
  question: PaymentQuestion,
  purpose: Purpose,
  { counted = null, freshMs }: Use = {},
): Promise<FoundPayment | null> {
  const { transactionId } = question;
  const chosen = await chooseAccount(deps, setUp, question);
  if (chosen === null) return null;
  const stored = await deps.lookups.payment({ accountId: chosen.account.id, transactionId }, counted);
  const found = await readFacts(deps, chosen, transactionId, stored, freshMs);
  const account = await inUse(deps.db, chosen.account, found, purpose, stored.now);
  const key = { accountId: account.id, transactionId };
  const payment = await knownPayment(deps, account, key, stored.payment, found, purpose);
  return { account, stored, found, payment };
}

/** The account, noted as used where that leads to a record. */
async function inUse(
  db: Database,
  account: AccountName,
  found: PaymentFacts,
  purpose: Purpose,
  now: Date,
): Promise<AccountName> {
  if (isUnused(account)) {
    if (found.kind === 'misconfigured') throw notConnected(account, found.failure);
    // Whether there is such an account is not known.
    if (found.kind === 'unreachable') throw unreachable(account.processor, found);
  }
  const isRecorded =
    found.kind === 'read' ||
    found.kind === 'stored' ||
    (purpose === 'creation' && found.kind === 'unreachable');
  const stores = purpose === 'creation' || purpose === 'check';
  return isRecorded && stores ? await noteUse(db, account, now) : account;
}

async function knownPayment(
  deps: PaymentDependencies,
  account: AccountName,
  key: PaymentKey,
  stored: Payment | null,
  found: PaymentFacts,
  purpose: Purpose,
): Promise<KnownPayment | null> {
  if (found.kind === 'stored') return found.payment;
  const isUnrefundable = found.kind === 'unrefundable';
  if (!('facts' in found) || (isUnrefundable && purpose !== 'view')) return null;
  // Stored, a payment that cannot be refunded would look as if it could.
  if (purpose === 'dry run' || (purpose === 'view' && (stored === null || isUnrefundable))) {
    const known = stored ?? (await storedByOtherId(deps, key, found.facts));
    return await knownUnrecorded(deps, account, known, found);
  }
  // A new payment is stored with the refund, and one that is stored by another of its ids is found then.
  if (purpose === 'creation' && stored === null) return await knownUnrecorded(deps, account, stored, found);
  return await recordKnown(deps, key, found);
}

/** The payment as stored by another id than the requested one; null when it is not. */
async function storedByOtherId(
  { lookups }: { lookups: Lookups },
  key: PaymentKey,
  { transactionIds }: ProcessorPayment,
): Promise<Payment | null> {
  const found = await Promise.all(
    transactionIds.map((transactionId) => lookups.payment({ ...key, transactionId })),
  );
  return found.find(({ payment }) => payment !== null)?.payment ?? null;
}

/**
 * Why a payment that is not known cannot be refunded, as its processor says; null while it is unreachable, also with credentials that
 * have stopped working.
 */
export function readProblem(processor: string, found: PaymentFacts): ServiceError | null {
  switch (found.kind) {
    case 'not-found':
    case 'unrefundable':
      return new ServiceError('processor_error', found.failure.message);
    case 'ambiguous':
      return new ServiceError('validation_error', `transactionId: ${found.failure.message}`);
    case 'misconfigured':
      return found.hasWorked ? null : refusedCredentials(processor, found.failure);
    case 'unreadable':
      return unreadableAnswer(processor, found.failure);
    default:
      return null;
  }
}

/** 503: nothing is stored of the payment, and its processor is unreachable. */
export function unreachable(processor: string, found: PaymentFacts): ServiceError {
  if (found.kind === 'misconfigured') return refusedCredentials(processor, found.failure);
  const lastError = 'failure' in found ? ` Last error: ${found.failure.message}` : '';
  return new ServiceError(
    'service_unavailable',
    `${displayNameOf(processor)} could not be reached to read this payment. Retry in a few seconds.${lastError}`,
    { retryAfterSeconds: 5 },
  );
}
