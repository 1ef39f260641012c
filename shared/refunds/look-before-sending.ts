import { type DatabaseTransaction, databaseNow, type Refund } from '../db.ts';
import type { Dependencies } from '../dependencies.ts';
import { transition } from './transition.ts';

/**
 * Has a refund that counts as not sent looked up before anything is sent, because the processor was seen to have it under
 * its name. Nothing happens to one whose fate is unknown anyway, or that has got further meanwhile.
 */
export async function lookBeforeSending(
  tx: DatabaseTransaction,
  { clock }: Pick<Dependencies, 'clock'>,
  refund: Refund,
  actor: string,
): Promise<void> {
  const seenAt = await databaseNow(tx);
  await transition(tx, clock, {
    refund,
    from: 'processing',
    to: 'processing',
    guard: { externalRefundId: null, unknownSince: null },
    changes: {
      unknownSince: seenAt,
      attemptEndedAt: seenAt,
      attemptAnswered: false,
      lastOutcome: 'unknown',
      nextActionAt: clock.now(),
    },
    entry: { type: 'lookup.requested', actor },
  });
}
