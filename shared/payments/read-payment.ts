import type { Payment } from '../platform/database.ts';
import type { AccountDependencies, AccountName } from '../processors/accounts/connections.ts';
import type { ProcessorFailure, ProcessorTransaction } from '../processors/contract/processor.ts';
import { asKnown, type KnownPayment } from './payment.ts';

/** A payment as it is on record, and when that was looked at. */
export interface StoredPayment {
  payment: Payment | null;
  /** In the database's time. */
  now: Date;
}

/**
 * What the processor says of a payment, or what is on record of it.
 * - `stored`: on record, and fresh enough, or the processor cannot be asked.
 * - `read`: just read from the processor; nothing of it is on record yet.
 * - `not-found`: the processor does not have it.
 * - `unrefundable`: the processor has it and refunds nothing of it; nothing of that is stored.
 * - `unreachable`: the processor could not be asked and nothing is stored.
 * - `misconfigured`: the processor refuses the account's credentials and nothing is stored.
 */
export type PaymentFacts =
  | { kind: 'stored'; payment: KnownPayment }
  | { kind: 'read'; facts: ProcessorTransaction; readAt: Date }
  | { kind: 'not-found' | 'unrefundable' | 'unreachable' | 'misconfigured'; failure: ProcessorFailure };

/** Reads a payment: from the record while that is fresh, else from the processor with a short deadline. */
export async function readFacts(
  deps: Pick<AccountDependencies, 'connections' | 'settings'>,
  account: AccountName,
  transactionId: string,
  { payment, now }: StoredPayment,
): Promise<PaymentFacts> {
  const stored = asKnown(payment);
  if (stored !== null && isFresh(deps.settings, stored, now)) return { kind: 'stored', payment: stored };
  const processor = await deps.connections.connect(account);
  const timeoutMs = deps.settings.TRANSACTION_READ_TIMEOUT_MS;
  const answer = await processor.getTransaction(transactionId, { timeoutMs });
  switch (answer.kind) {
    case 'found': {
      const { unrefundable } = answer.value;
      if (unrefundable !== null) return { kind: 'unrefundable', failure: unrefundable };
      return { kind: 'read', facts: answer.value, readAt: now };
    }
    case 'not-found':
      return answer;
    case 'unavailable':
      if (stored !== null) return { kind: 'stored', payment: stored };
      return { kind: 'unreachable', failure: answer.failure };
    case 'misconfigured':
      return stored !== null ? { kind: 'stored', payment: stored } : answer;
  }
}

function isFresh(
  { TRANSACTION_FRESH_MS }: Pick<AccountDependencies['settings'], 'TRANSACTION_FRESH_MS'>,
  { fetchedAt }: Payment,
  now: Date,
): boolean {
  return fetchedAt !== null && now.getTime() - fetchedAt.getTime() < TRANSACTION_FRESH_MS;
}
