import {
  type KnownPayment,
  type PaymentFacts,
  type PaymentKey,
  readFacts,
  type StoredPayment,
} from '../../payments/payment.ts';
import type { Database, Payment } from '../../platform/database.ts';
import type { Environment } from '../../platform/environment.ts';
import { ServiceError } from '../../platform/errors.ts';
import { chooseAccount } from '../../processors/accounts/choose-account.ts';
import type { AccountName } from '../../processors/accounts/connections.ts';
import type { ProcessorReads } from '../../processors/accounts/read-payment.ts';
import type { ProcessorPayment } from '../../processors/contract/processor.ts';
import { displayNameOf } from '../../processors/registry.ts';
import { knownUnrecorded, recordKnown } from '../changes/record-payment.ts';
import { refusedCredentials, unreadableAnswer } from '../model/refusals.ts';
import type { CountedKey, KeySum, Lookups } from './lookups.ts';

/** A payment to find, by any of its ids. */
export interface PaymentQuestion {
  organizationId: string;
  environment: Environment;
  transactionId: string;
  /** Undefined to detect it. */
  processor?: string | undefined;
}

/**
 * What is stored of a payment that is read. `creation`: a new one is stored with its refund. `view`: a new one is not stored.
 * `dry run`: nothing is. `check`: a new one is. Except by a dry run, a stored payment is brought up to date.
 */
export type Purpose = 'creation' | 'view' | 'dry run' | 'check';

/** What is known of a payment. */
export interface FoundPayment {
  processor: string;
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
 * Chooses the account of a payment, and reads the payment at its processor unless it is stored and fresh.
 * @param accounts all of the organization's accounts in the environment.
 * @returns null when no account has the payment.
 * @throws ServiceError as `chooseAccount` does.
 */
export async function findPayment(
  deps: PaymentDependencies,
  accounts: readonly AccountName[],
  question: PaymentQuestion,
  purpose: Purpose,
  { counted = null, freshMs }: Use = {},
): Promise<FoundPayment | null> {
  const { organizationId, environment, transactionId } = question;
  const account = await chooseAccount(deps, accounts, question);
  if (account === null) return null;
  const { processor } = account;
  const key = { organizationId, environment, processor, transactionId };
  const stored = await deps.lookups.payment(key, counted);
  const found = await readFacts(deps, account, transactionId, stored, freshMs);
  const payment = await knownPayment(deps, key, stored.payment, found, purpose);
  return { processor, stored, found, payment };
}

async function knownPayment(
  deps: PaymentDependencies,
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
    return await knownUnrecorded(deps, key, known, found);
  }
  // A new payment is stored with the refund, and one that is stored by another of its ids is found then.
  if (purpose === 'creation' && stored === null) return await knownUnrecorded(deps, key, stored, found);
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
