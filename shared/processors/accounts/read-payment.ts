import type { ServiceSettings } from '../../platform/config.ts';
import type { PaymentReadResult } from '../contract/processor.ts';
import type { Connection, ProcessorConnections } from './connections.ts';

/** What reads payments from processors needs. */
export interface ProcessorReads {
  connections: ProcessorConnections;
  settings: ServiceSettings;
}

/**
 * Reads a payment for a request, with a short time limit. A call that would have to wait for longer than half of it, because the account
 * makes too many, is not made.
 */
export async function readPaymentForRequest(
  { connections, settings }: ProcessorReads,
  { account, processor }: Pick<Connection, 'account' | 'processor'>,
  transactionId: string,
): Promise<PaymentReadResult> {
  const timeoutMs = settings.TRANSACTION_READ_TIMEOUT_MS;
  const limits = { perSecond: settings.PROCESSOR_ACCOUNT_CALLS_PER_SECOND, mostMs: timeoutMs / 2 };
  const refusal = await connections.waitForCall(account, 'getPayment', limits);
  return refusal ?? (await processor.getPayment(transactionId, { timeoutMs }));
}
