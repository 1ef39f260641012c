import type { WhileWaiting } from '../../platform/concurrency/shared-wait.ts';
import type { ServiceSettings } from '../../platform/config.ts';
import type { PaymentReadResult } from '../contract/processor.ts';
import type { Connection, ProcessorConnections } from './connections.ts';

/** What reads payments from processors needs. */
export interface ProcessorReads {
  connections: ProcessorConnections;
  settings: ServiceSettings;
  whileWaiting: WhileWaiting;
}

/**
 * Reads a payment for a request, with a short time limit. A call that would have to wait for longer than half of it, because the account
 * makes too many, is not made.
 */
export async function readPaymentForRequest(
  { connections, settings, whileWaiting }: ProcessorReads,
  { account, processor }: Pick<Connection, 'account' | 'processor'>,
  transactionId: string,
): Promise<PaymentReadResult> {
  const timeoutMs = settings.TRANSACTION_READ_TIMEOUT_MS;
  const limits = { perSecond: settings.PROCESSOR_ACCOUNT_CALLS_PER_SECOND, mostMs: timeoutMs / 2 };
  return await whileWaiting(
    async () =>
      (await connections.waitForCall(account, 'getPayment', limits)) ??
      (await processor.getPayment(transactionId, { timeoutMs })),
  );
}
