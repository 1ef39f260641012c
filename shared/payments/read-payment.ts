import { type AccountName, loadAccount } from '../accounts/connect.ts';
import type { Payment } from '../db.ts';
import type { Dependencies } from '../dependencies.ts';
import type { ProcessorFailure, ProcessorTransaction } from '../processors/processor.ts';
import { asKnown, type KnownPayment, type PaymentKey } from './payment.ts';
import { recordPayment } from './record-payment.ts';

/**
 * A payment for a caller who waits.
 * - `known`: as the processor described it, lately.
 * - `not-found`: the processor does not have it.
 * - `unrefundable`: the processor has it and refunds nothing of it; nothing of that is stored.
 * - `unreachable`: the processor could not be asked and nothing is stored.
 * - `misconfigured`: the processor refuses the account's credentials and nothing is stored.
 */
export type PaymentReading =
  | { kind: 'known'; payment: KnownPayment }
  | { kind: 'not-found'; failure: ProcessorFailure }
  | { kind: 'unrefundable'; failure: ProcessorFailure }
  | { kind: 'unreachable'; failure: ProcessorFailure }
  | { kind: 'misconfigured'; failure: ProcessorFailure };

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
 */
export type PaymentFacts =
  | { kind: 'stored'; payment: KnownPayment }
  | { kind: 'read'; facts: ProcessorTransaction; readAt: Date }
  | Exclude<PaymentReading, { kind: 'known' }>;

/** Reads a payment: from the record while that is fresh, else from the processor with a short deadline. */
export async function readFacts(
  deps: Pick<Dependencies, 'connections' | 'settings'>,
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
  { TRANSACTION_FRESH_MS }: Pick<Dependencies['settings'], 'TRANSACTION_FRESH_MS'>,
  { fetchedAt }: Payment,
  now: Date,
): boolean {
  return fetchedAt !== null && now.getTime() - fetchedAt.getTime() < TRANSACTION_FRESH_MS;
}

/** The same with what was read put on record, for callers who do not create a refund with it. */
export async function readPayment(deps: Dependencies, key: PaymentKey): Promise<PaymentReading> {
  const account = await loadAccount(deps.db, key);
  const found = await readFacts(deps, account, key.transactionId, await deps.lookups.payment(key));
  if (found.kind === 'stored') return { kind: 'known', payment: found.payment };
  if (found.kind !== 'read') return found;
  return { kind: 'known', payment: await recordKnown(deps, key, found) };
}

/**
 * Records facts that were just read.
 * @returns the payment. Where the row cannot hold an amount that is less than what is reserved, as the facts have it.
 */
export async function recordKnown(
  { db }: Pick<Dependencies, 'db'>,
  key: PaymentKey,
  { facts, readAt }: Extract<PaymentFacts, { kind: 'read' }>,
): Promise<KnownPayment> {
  const recorded = await recordPayment(db, key, facts, readAt);
  const { amount, currency, chargedAt } = facts;
  return asKnown(recorded) ?? { ...recorded, amount, currency, chargedAt };
}
