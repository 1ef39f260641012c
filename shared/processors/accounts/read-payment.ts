import type { ServiceSettings } from '../../platform/config.ts';
import { processorFailure } from '../contract/outcome.ts';
import type { PaymentReadResult, Processor } from '../contract/processor.ts';
import type { AccountName } from './account.ts';
import { type Connection, isUnusableCredentials, type ProcessorConnections } from './connections.ts';

/** What reads payments from processors needs. */
export interface ProcessorReads {
  connections: ProcessorConnections;
  settings: ServiceSettings;
}

/**
 * Reads a payment of an account for a request, as `readPaymentForRequest` does. Stored credentials that cannot be used are an answer as
 * well; the account's page explains it.
 */
export async function readPaymentOf(
  deps: ProcessorReads,
  account: AccountName,
  transactionId: string,
): Promise<PaymentReadResult> {
  let processor: Processor;
  try {
    processor = await deps.connections.connect(account);
  } catch (error) {
    if (!isUnusableCredentials(error)) throw error;
    const failure = processorFailure('credentials_unusable', 'The stored credentials cannot be used.');
    return { kind: 'misconfigured', scope: 'credentials', failure };
  }
  return await readPaymentForRequest(deps, { account, processor }, transactionId);
}

/**
 * Reads a payment for a request, with a short time limit. A call that would have to wait for longer than half of it, because the account
 * makes too many, is not made.
 */
async function readPaymentForRequest(
  { connections, settings }: ProcessorReads,
  { account, processor }: Pick<Connection, 'account' | 'processor'>,
  transactionId: string,
): Promise<PaymentReadResult> {
  const timeoutMs = settings.TRANSACTION_READ_TIMEOUT_MS;
  const limits = { perSecond: settings.PROCESSOR_ACCOUNT_CALLS_PER_SECOND, mostMs: timeoutMs / 2 };
  const refusal = await connections.waitForCall(account, 'getPayment', limits);
  return refusal ?? (await processor.getPayment(transactionId, { timeoutMs }));
}
