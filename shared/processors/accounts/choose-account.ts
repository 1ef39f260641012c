import type { Database } from '../../platform/database.ts';
import type { Environment } from '../../platform/environment.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { PaymentReadResult } from '../contract/processor.ts';
import { displayNameOf, processorKind, processorNames } from '../registry.ts';
import { type AccountName, loadAccount } from './account.ts';
import { connectedAccountOf, findConnectedAccounts } from './connected-accounts.ts';
import { type ProcessorReads, readPaymentOf } from './read-payment.ts';

interface AccountOwner {
  organizationId: string;
  environment: Environment;
}

/** A payment to find the account of. */
export interface AccountQuestion extends AccountOwner {
  transactionId: string;
  processor?: string | undefined;
  /** The id or the name of an account. */
  account?: string | undefined;
  /** The id that the processor has for an account that is connected to one of the organization. */
  connectedAccount?: string | undefined;
}

/** What an organization has set up in an environment. */
export interface AccountsSetUp {
  /** Those with credentials of their own. */
  accounts: readonly AccountName[];
  /** Whether any account is connected to one of these. */
  hasConnected: boolean;
}

/** The account of a payment. */
export interface ChosenAccount {
  account: AccountName;
  /** How its processor answered when it was asked for the payment; null when it was not. */
  answer: PaymentReadResult | null;
}

/** An account that a payment is on record of. */
export interface RecordedAccount {
  id: string;
  parentId: string | null;
}

/** What finds the account of a payment. */
interface ChoiceDependencies extends ProcessorReads {
  db: Database;
  lookups: {
    /** Those of the owner that a payment with this id is on record of. */
    accountsOf(payment: AccountQuestion): Promise<readonly RecordedAccount[]>;
  };
}

/**
 * Finds the account of a payment: the one that is named, else the only one that the processor or the format of the id fits, else the one
 * that the payment is on record of, else the one that has it, of which each is asked. It never guesses.
 * @returns null when no account has the payment. A connected account that is used for the first time is not stored.
 * @throws ServiceError validation_error for a processor or an account that is not set up, or when several have the payment;
 * service_unavailable when an account that may have it does not answer.
 */
export async function chooseAccount(
  deps: ChoiceDependencies,
  setUp: AccountsSetUp,
  question: AccountQuestion,
): Promise<ChosenAccount | null> {
  const { account, connectedAccount } = question;
  const fitting =
    account === undefined
      ? fittingAccounts(setUp, question)
      : [await namedAccount(deps.db, setUp, account, question)];
  const candidates =
    connectedAccount === undefined ? fitting : await connectedTo(deps, setUp, fitting, connectedAccount);
  const [first, ...others] = candidates;
  const isNamed = account !== undefined || connectedAccount !== undefined;
  // A payment of a connected account is on record of that one, although the request does not name it.
  if (first !== undefined && others.length === 0 && (isNamed || !setUp.hasConnected))
    return { account: first, answer: null };
  const recorded = await accountOnRecord(deps, candidates, question, isNamed);
  if (recorded !== null) return { account: recorded, answer: null };
  if (first !== undefined && others.length === 0) return { account: first, answer: null };
  return await askEach(deps, candidates, question.transactionId);
}

/** The accounts of the processor, of the one that has ids of this format, or all of them. */
function fittingAccounts({ accounts }: AccountsSetUp, question: AccountQuestion): AccountName[] {
  const { environment, transactionId, processor } = question;
  const named = processor ?? processorNames.find((name) => processorKind(name).recognizes(transactionId));
  const fitting = accounts.filter((each) => named === undefined || each.processor === named);
  if (fitting.length > 0) return fitting;
  const missing = named === undefined ? 'account is set up' : `${named} account is set up`;
  throw invalid(
    'processor',
    `no ${missing} in the ${environment} environment. Add ${named === undefined ? 'one' : 'it'} first.`,
  );
}

/** The account of an owner with an id or a name, also a connected one. */
async function namedAccount(
  db: Database,
  { accounts }: AccountsSetUp,
  named: string,
  question: AccountOwner & { processor?: string | undefined },
): Promise<AccountName> {
  const { environment, processor } = question;
  const own = accounts.filter(({ id, name }) => id === named || name === named);
  const found = own.length > 0 ? own : await findConnectedAccounts(db, question, named);
  const [account, another] =
    processor === undefined ? found : found.filter((each) => each.processor === processor);
  if (account === undefined) {
    const at = processor === undefined ? '' : `${processor} `;
    throw invalid(
      'account',
      `no ${at}account with this ID or name is set up in the ${environment} environment.`,
    );
  }
  if (another === undefined) return account;
  throw invalid('account', 'is the name of several accounts. Pass the ID of one, or the processor as well.');
}

/** The account with this id at the processor, as it is connected to each of the accounts that can have one. */
async function connectedTo(
  deps: ChoiceDependencies,
  setUp: AccountsSetUp,
  accounts: readonly AccountName[],
  connectedAccount: string,
): Promise<AccountName[]> {
  const own = setUp.accounts.find(({ externalAccountId }) => externalAccountId === connectedAccount);
  // Under two accounts, its payments would have two limits.
  if (own !== undefined)
    throw invalid('connectedAccount', `is the account ${own.name}. Pass that as account instead.`);
  const parents = accounts.filter(({ processor }) => processorKind(processor).connectedAccountId !== null);
  const [account] = accounts;
  if (parents.length === 0 && account !== undefined) {
    throw invalid('connectedAccount', `${displayNameOf(account.processor)} has no connected accounts.`);
  }
  const connected = parents.filter(({ parentId }) => parentId !== null);
  if (connected.some((each) => each.connectedAccount !== connectedAccount)) {
    throw invalid('connectedAccount', 'is not that of the account.');
  }
  const fits = ({ processor }: AccountName) =>
    processorKind(processor).connectedAccountId?.test(connectedAccount) ?? false;
  if (!parents.some(fits))
    throw invalid(
      'connectedAccount',
      'must be the ID of a connected account, such as acct_1QfX2eLkdIwHu7ix.',
    );
  return await Promise.all(
    parents
      .filter(fits)
      .map(async (parent) =>
        parent.parentId === null ? await connectedAccountOf(deps.db, parent, connectedAccount) : parent,
      ),
  );
}

/**
 * The account of which the payment is on record; null when it is on record of none of them.
 * @param isNamed false to look for it among all accounts that are connected to these as well.
 */
async function accountOnRecord(
  { db, lookups }: ChoiceDependencies,
  candidates: readonly AccountName[],
  question: AccountQuestion,
  isNamed: boolean,
): Promise<AccountName | null> {
  const ids = new Set(candidates.map(({ id }) => id));
  const recorded = await lookups.accountsOf(question);
  const [first, ...others] = recorded.filter(
    ({ id, parentId }) => ids.has(id) || (!isNamed && parentId !== null && ids.has(parentId)),
  );
  if (first === undefined) return null;
  const accounts = await Promise.all(
    [first, ...others].map(
      async ({ id }) =>
        candidates.find((each) => each.id === id) ?? (await loadAccount(db, { accountId: id })),
    ),
  );
  const [account, ...rest] = accounts;
  if (rest.length > 0) throw severalOwners(accounts);
  return account ?? null;
}

/** Asks all of them at the same time, so that it takes no longer than for one. */
async function askEach(
  deps: ChoiceDependencies,
  candidates: readonly AccountName[],
  transactionId: string,
): Promise<ChosenAccount | null> {
  const plausible = candidates.filter(({ processor }) => processorKind(processor).couldBe(transactionId));
  const answers = await Promise.all(
    plausible.map(async (account) => ({
      account,
      answer: await readPaymentOf(deps, account, transactionId),
    })),
  );
  const owners = answers.filter(({ answer }) => answer.kind === 'found' || answer.kind === 'ambiguous');
  const unconnected = answers.filter(
    ({ account, answer }) =>
      account.parentId !== null && answer.kind === 'misconfigured' && answer.isUnconnected === true,
  );
  // None of the accounts has access to it: the answer of the first says so.
  if (unconnected.length === answers.length) return answers[0] ?? null;
  const silent = answers.filter(
    (each) =>
      (each.answer.kind === 'unavailable' || each.answer.kind === 'misconfigured') &&
      !unconnected.includes(each),
  );
  const [owner, ...others] = owners;
  if (others.length > 0) throw severalOwners(owners.map(({ account }) => account));
  // A processor gives the ids that it alone has to one account each.
  const isUnique = owner !== undefined && processorKind(owner.account.processor).recognizes(transactionId);
  if (owner !== undefined && (silent.length === 0 || isUnique)) return owner;
  const [first, ...more] = silent;
  // No other account has it: this one does, or none.
  if (owner === undefined && more.length === 0) return first ?? null;
  const labels = labelsOf(silent.map(({ account }) => account));
  throw new ServiceError(
    'service_unavailable',
    `The account could not be detected: ${labels} did not say whether it has the payment. Specify the account, or retry in a few seconds.`,
    { retryAfterSeconds: 5 },
  );
}

function severalOwners(owners: readonly AccountName[]): ServiceError {
  const names = labelsOf(owners);
  return invalid(
    'account',
    `is required, because ${names} have this payment. Pass the ID or the name of one.`,
  );
}

/** "stripe and braintree", "shop-eu (stripe) and shop-us (stripe)". */
function labelsOf(accounts: readonly AccountName[]): string {
  const labels = accounts.map(({ name, processor }) =>
    name === processor ? name : `${name} (${processor})`,
  );
  return new Intl.ListFormat('en').format(labels);
}

function invalid(field: 'processor' | 'account' | 'connectedAccount', problem: string): ServiceError {
  return new ServiceError('validation_error', `${field}: ${problem}`);
}
