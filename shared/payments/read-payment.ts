import type { Dependencies } from '../dependencies.ts';
import type { Payment } from '../platform/database.ts';
import type { AccountName } from '../processors/accounts/connections.ts';
import { isUnreadable } from '../processors/contract/outcome.ts';
import type { ProcessorFailure, ProcessorPayment } from '../processors/contract/processor.ts';
import { asKnown, type KnownPayment } from './payment.ts';

/** The stored payment, if any, and when it was read. */
export interface StoredPayment {
  payment: Payment | null;
  /** In the database's time. */
  now: Date;
}

/**
 * - `stored`: the stored payment is fresh, or the processor is unreachable.
 * - `read`: just read from the processor, not stored yet.
 * - `not-found`: the processor does not have the payment.
 * - `unrefundable`: the payment cannot be refunded at all.
 * - `unreachable`: the processor is unreachable, and nothing is stored.
 * - `unreadable`: the processor's answer is not as documented, and nothing is stored.
 * - `misconfigured`: the processor refuses the credentials, and nothing is stored.
 */
export type PaymentFacts =
  | { kind: 'stored'; payment: KnownPayment }
  | { kind: 'read'; facts: ProcessorPayment; readAt: Date }
  | {
      kind: 'not-found' | 'unrefundable' | 'unreachable' | 'unreadable' | 'misconfigured';
      failure: ProcessorFailure;
    };

/** The stored payment while it is fresh, else a read from the processor with a short time limit. */
export async function readFacts(
  deps: Pick<Dependencies, 'connections' | 'settings' | 'whileWaiting'>,
  account: AccountName,
  transactionId: string,
  { payment, now }: StoredPayment,
): Promise<PaymentFacts> {
  const stored = asKnown(payment);
  if (stored !== null && isFresh(deps.settings, stored, now)) return { kind: 'stored', payment: stored };
  const processor = await deps.connections.connect(account);
  const timeoutMs = deps.settings.TRANSACTION_READ_TIMEOUT_MS;
  const answer = await deps.whileWaiting(() => processor.getPayment(transactionId, { timeoutMs }));
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
      return {
        kind: isUnreadable(answer.failure) ? 'unreadable' : 'unreachable',
        failure: answer.failure,
      };
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
