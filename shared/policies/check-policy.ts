import { chooseAccount } from '../accounts/choose-account.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Environment } from '../environment.ts';
import { ServiceError } from '../errors.ts';
import { refusedCredentials } from '../refunds/refusals.ts';
import { readTransaction } from '../transactions/read-transaction.ts';
import { decidePolicy } from './decide.ts';
import { unknownTransaction } from './evaluate.ts';
import type { PolicyVerdict } from './policy.ts';

/** A question about a payment; `amount` in minor units, null for "at all, and up to how much". */
export interface PolicyQuestion {
  organizationId: string;
  environment: Environment;
  transactionId: string;
  amount: bigint | null;
}

/**
 * Answers whether a payment may be refunded; nothing is changed. A payment that nobody knows is not eligible.
 * @throws ServiceError when nothing is stored: service_unavailable while the processor cannot be asked, and processor_error
 * when it refuses the account's credentials; besides what `chooseAccount` throws.
 */
export async function checkPolicy(deps: Dependencies, question: PolicyQuestion): Promise<PolicyVerdict> {
  const { organizationId, environment, transactionId, amount } = question;
  const account = await chooseAccount(deps, {
    organizationId,
    environment,
    transactionId,
    processor: undefined,
  });
  if (account === null) return unknownTransaction(transactionId, 'api');
  const { processor } = account;
  const reading = await readTransaction(deps, { organizationId, environment, processor, transactionId });
  switch (reading.kind) {
    case 'known': {
      const request = { amount, reason: null, metadata: null, initiatedBy: 'api' as const };
      return await decidePolicy(deps.db, deps.clock, reading.transaction, request);
    }
    case 'not-found':
      return unknownTransaction(transactionId, 'api');
    case 'unreachable':
      throw new ServiceError(
        'service_unavailable',
        `${processor} cannot be asked about this transaction; repeat in a few seconds. It last said: ${reading.failure.message}`,
        { retryAfterSeconds: 5 },
      );
    case 'misconfigured':
      throw refusedCredentials(processor, reading.failure);
  }
}
