import type { Environment } from '../../platform/environment.ts';
import { ServiceError } from '../../platform/errors.ts';
import { processorKind, processorNames } from '../registry.ts';
import type { AccountName } from './connections.ts';
import { type ProcessorReads, readPaymentForRequest } from './read-payment.ts';

/** A payment to find the account of. */
interface AccountQuestion {
  environment: Environment;
  transactionId: string;
  processor?: string | undefined;
}

/**
 * Finds the account of a payment: the given processor, else the one that the format of the id belongs to, else the only
 * account, else the account that has the payment. It never guesses.
 * @param accounts all of the organization's accounts in the environment.
 * @returns null when no account has the payment.
 * @throws ServiceError validation_error for a processor that is not set up or ambiguous; service_unavailable when a
 * processor that may have the payment is unreachable.
 */
export async function chooseAccount(
  deps: ProcessorReads,
  accounts: readonly AccountName[],
  question: AccountQuestion,
): Promise<AccountName | null> {
  const { environment, transactionId, processor } = question;
  const named = processor ?? processorNames.find((name) => processorKind(name).recognizes(transactionId));
  if (named !== undefined) {
    const account = accounts.find((candidate) => candidate.processor === named);
    if (account !== undefined) return account;
    throw new ServiceError(
      'validation_error',
      `processor: no ${named} account is set up in the ${environment} environment. Add it first.`,
    );
  }
  const [first, ...others] = accounts;
  if (first === undefined) {
    throw new ServiceError(
      'validation_error',
      `processor: no account is set up in the ${environment} environment. Add one first.`,
    );
  }
  return others.length === 0 ? first : await askEach(deps, accounts, transactionId);
}

async function askEach(
  deps: ProcessorReads,
  accounts: readonly AccountName[],
  transactionId: string,
): Promise<AccountName | null> {
  const plausible = accounts.filter(({ processor }) => processorKind(processor).couldBe(transactionId));
  const answers = await Promise.all(
    plausible.map(async (account) => {
      const processor = await deps.connections.connect(account);
      return { account, answer: await readPaymentForRequest(deps, { account, processor }, transactionId) };
    }),
  );
  const owners = answers.filter(({ answer }) => answer.kind === 'found' || answer.kind === 'ambiguous');
  const silent = answers.filter(
    ({ answer }) => answer.kind === 'unavailable' || answer.kind === 'misconfigured',
  );
  const [owner] = owners;
  if (owners.length > 1) {
    const names = owners.map(({ account }) => account.processor).join(' and ');
    throw new ServiceError(
      'validation_error',
      `processor: is required, because ${names} both have this payment.`,
    );
  }
  if (silent.length > 0) {
    const names = silent.map(({ account }) => account.processor).join(' and ');
    throw new ServiceError(
      'service_unavailable',
      `The processor could not be detected: ${names} did not say whether it has the payment. Specify the processor, or retry in a few seconds.`,
      { retryAfterSeconds: 5 },
    );
  }
  return owner?.account ?? null;
}
