import { chooseAccount } from '../accounts/choose-account.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Environment } from '../environment.ts';
import { ServiceError } from '../errors.ts';
import type { ProcessorFailure } from '../processors/processor.ts';
import { refusedCredentials } from '../refunds/refusals.ts';
import { type KnownTransaction, readTransaction } from '../transactions/read-transaction.ts';
import { decidePolicy, type PolicyRequest } from './decide.ts';
import { unknownTransaction, unrefundableTransaction } from './evaluate.ts';
import type { PolicyVerdict } from './policy.ts';

/** A question about a refund of a payment that somebody may ask for. */
export interface PolicyQuestion {
  organizationId: string;
  environment: Environment;
  transactionId: string;
  /** Undefined to have it found out. */
  processor?: string | undefined;
  request: PolicyRequest;
}

export interface PaymentExamination {
  /** Null when no account has it, or its processor refunds nothing of it. */
  transaction: KnownTransaction | null;
  /** Why its processor refunds nothing of it; null otherwise. */
  unrefundable: ProcessorFailure | null;
  verdict: PolicyVerdict;
}

/**
 * Answers whether a payment may be refunded; nothing is changed. A payment that nobody knows, or of which its processor
 * refunds nothing, is not eligible.
 * @throws ServiceError when nothing is stored: service_unavailable while the processor cannot be asked, and processor_error
 * when it refuses the account's credentials; besides what `chooseAccount` throws.
 */
export async function examinePayment(
  deps: Dependencies,
  question: PolicyQuestion,
): Promise<PaymentExamination> {
  const { organizationId, environment, transactionId, request } = question;
  const verdict = unknownTransaction(transactionId, request.initiatedBy);
  const unknown = { transaction: null, unrefundable: null, verdict };
  const account = await chooseAccount(deps, { ...question, processor: question.processor });
  if (account === null) return unknown;
  const { processor } = account;
  const reading = await readTransaction(deps, { organizationId, environment, processor, transactionId });
  switch (reading.kind) {
    case 'known': {
      const { transaction } = reading;
      return {
        transaction,
        unrefundable: null,
        verdict: await decidePolicy(deps.db, deps.clock, transaction, request),
      };
    }
    case 'not-found':
      return unknown;
    case 'unrefundable':
      return {
        transaction: null,
        unrefundable: reading.failure,
        verdict: unrefundableTransaction(transactionId, reading.failure, request.initiatedBy),
      };
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
