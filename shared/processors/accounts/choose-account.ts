import type { Environment } from '../../platform/environment.ts';
import { ServiceError } from '../../platform/errors.ts';
import { processorKind, processorNames } from '../registry.ts';
import type { AccountDependencies, AccountName } from './connections.ts';

/** Whose payment is meant, and what the caller said of its processor. */
export interface AccountQuestion {
  environment: Environment;
  transactionId: string;
  processor: string | undefined;
}

/**
 * Finds the account that holds a payment: the processor that the caller named, else the one that the id's shape gives
 * away, else the only account, else the account that knows the id. It never guesses.
 * @param accounts all of the organization's in that environment.
 * @returns null when every account was asked and none knows the id.
 * @throws ServiceError validation_error for a processor that is unknown, not set up, or ambiguous;
 * service_unavailable when a processor that might know the id cannot be asked.
 */
export async function chooseAccount(
  deps: Pick<AccountDependencies, 'connections' | 'settings'>,
  accounts: readonly AccountName[],
  question: AccountQuestion,
): Promise<AccountName | null> {
  const { environment, transactionId, processor } = question;
  if (processor !== undefined && !processorNames.includes(processor)) {
    throw new ServiceError(
      'validation_error',
      `processor: unknown; use one of ${processorNames.join(', ')}.`,
    );
  }
  const named = processor ?? processorNames.find((name) => processorKind(name).recognizes(transactionId));
  if (named !== undefined) {
    const account = accounts.find((candidate) => candidate.processor === named);
    if (account !== undefined) return account;
    throw new ServiceError(
      'validation_error',
      `processor: no ${named} account is set up for the ${environment} environment; add it first.`,
    );
  }
  const [first, ...others] = accounts;
  if (first === undefined) {
    throw new ServiceError(
      'validation_error',
      `processor: no processor account is set up for the ${environment} environment; add one first.`,
    );
  }
  return others.length === 0 ? first : await askEach(deps, accounts, transactionId);
}

async function askEach(
  deps: Pick<AccountDependencies, 'connections' | 'settings'>,
  accounts: readonly AccountName[],
  transactionId: string,
): Promise<AccountName | null> {
  const plausible = accounts.filter(({ processor }) => processorKind(processor).couldBe(transactionId));
  const timeoutMs = deps.settings.TRANSACTION_READ_TIMEOUT_MS;
  const answers = await Promise.all(
    plausible.map(async (account) => ({
      account,
      answer: await (await deps.connections.connect(account)).getTransaction(transactionId, { timeoutMs }),
    })),
  );
  const owners = answers.filter(({ answer }) => answer.kind === 'found');
  const silent = answers.filter(
    ({ answer }) => answer.kind === 'unavailable' || answer.kind === 'misconfigured',
  );
  const [owner] = owners;
  if (owners.length > 1) {
    const names = owners.map(({ account }) => account.processor).join(' and ');
    throw new ServiceError(
      'validation_error',
      `processor: ${names} both know this transaction; pass processor to say which one is meant.`,
    );
  }
  if (silent.length > 0) {
    const names = silent.map(({ account }) => account.processor).join(' and ');
    throw new ServiceError(
      'service_unavailable',
      `The processor could not be detected because ${names} does not answer; pass processor, or repeat later.`,
      { retryAfterSeconds: 5 },
    );
  }
  return owner?.account ?? null;
}
