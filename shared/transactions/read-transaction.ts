import { clearMisconfigured, markMisconfigured } from '../accounts/account-trouble.ts';
import { loadAccount } from '../accounts/connect.ts';
import type { Transaction } from '../db.ts';
import type { Dependencies } from '../dependencies.ts';
import type { ProcessorFailure } from '../processors/processor.ts';
import { recordTransaction } from './record-transaction.ts';
import { type TransactionKey, whereTransaction } from './reservation.ts';

/**
 * A payment for somebody who waits.
 * - `known`: as the processor described it, lately.
 * - `not-found`: the processor does not have it.
 * - `unrefundable`: the processor has it and refunds nothing of it; it is not stored.
 * - `unreachable`: the processor could not be asked and nothing is stored.
 * - `misconfigured`: the processor refuses the account's credentials and nothing is stored.
 */
export type TransactionReading =
  | { kind: 'known'; transaction: KnownTransaction }
  | { kind: 'not-found'; failure: ProcessorFailure }
  | { kind: 'unrefundable'; failure: ProcessorFailure }
  | { kind: 'unreachable'; failure: ProcessorFailure }
  | { kind: 'misconfigured'; failure: ProcessorFailure };

/** A payment whose facts are on record. */
export type KnownTransaction = Known<Transaction>;

type Facts = Pick<Transaction, 'amount' | 'currency' | 'chargedAt'>;
type Known<Row extends Facts> = Row & { amount: bigint; currency: string; chargedAt: Date };

/**
 * Reads a payment: from the database while that is fresh, else from the processor with a short deadline. What is
 * stored still serves when the processor cannot be asked.
 */
export async function readTransaction(deps: Dependencies, key: TransactionKey): Promise<TransactionReading> {
  const stored = asKnown(await deps.db.transaction.findUnique({ where: whereTransaction(key) }));
  if (stored !== null && isFresh(deps, stored)) return { kind: 'known', transaction: stored };
  const account = await loadAccount(deps.db, key);
  const readAt = deps.clock.now();
  const answer = await deps.connections
    .connect(account)
    .getTransaction(key.transactionId, { timeoutMs: deps.settings.TRANSACTION_READ_TIMEOUT_MS });
  switch (answer.kind) {
    case 'found': {
      await clearMisconfigured(deps, account);
      const { unrefundable } = answer.value;
      if (unrefundable !== null) return { kind: 'unrefundable', failure: unrefundable };
      const recorded = await recordTransaction(deps, key, answer.value, readAt);
      // The row cannot hold an amount that is less than what is reserved; who waits is told all the same.
      const { amount, currency, chargedAt } = answer.value;
      return {
        kind: 'known',
        transaction: asKnown(recorded) ?? { ...recorded, amount, currency, chargedAt },
      };
    }
    case 'not-found':
      return { kind: 'not-found', failure: answer.failure };
    case 'unavailable':
      if (stored !== null) return { kind: 'known', transaction: stored };
      return { kind: 'unreachable', failure: answer.failure };
    case 'misconfigured':
      await markMisconfigured(deps, account, answer.failure);
      if (stored !== null) return { kind: 'known', transaction: stored };
      return { kind: 'misconfigured', failure: answer.failure };
  }
}

function isFresh(deps: Dependencies, { fetchedAt }: Transaction): boolean {
  return (
    fetchedAt !== null &&
    deps.clock.now().getTime() - fetchedAt.getTime() < deps.settings.TRANSACTION_FRESH_MS
  );
}

/** The payment, or the columns of it that were read, when its facts are on record; else null. */
export function asKnown<Row extends Facts>(transaction: Row | null): Known<Row> | null {
  if (transaction === null) return null;
  const { amount, currency, chargedAt } = transaction;
  if (amount === null || currency === null || chargedAt === null) return null;
  return { ...transaction, amount, currency, chargedAt };
}
