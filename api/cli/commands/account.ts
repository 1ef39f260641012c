import { InvalidArgumentError } from 'commander';
import { findOrganization } from '#shared/platform/organization.ts';
import { abilitiesOf, stateOf } from '#shared/processors/accounts/abilities.ts';
import { refusalsOf } from '#shared/processors/accounts/ability-wording.ts';
import type { AccountName } from '#shared/processors/accounts/account.ts';
import { type AccountPlace, accountAt, findAccount } from '#shared/processors/accounts/account.ts';
import {
  applicationFeeDefaults,
  setCallsPerSecond,
  setRefundDefaults,
  transferDefaults,
} from '#shared/processors/accounts/account-settings.ts';
import {
  type AccountSummary,
  listProcessorAccounts,
  OtherAccountError,
} from '#shared/processors/accounts/manage-accounts.ts';
import { limitedOperations } from '#shared/processors/accounts/rate-limits.ts';
import { RefusedCredentialsError, setTestedAccount } from '#shared/processors/accounts/set-credentials.ts';
import { type ConnectionTest, testConnection } from '#shared/processors/accounts/test-connection.ts';
import { abilities, type ProcessorKind } from '#shared/processors/contract/processor.ts';
import { displayNameOf, processorKinds } from '#shared/processors/registry.ts';
import { command, commands, listing } from '../console/command.ts';
import {
  choice,
  environment,
  flag,
  json,
  organization,
  processor,
  reading,
  required,
  text,
} from '../console/options.ts';
import { explain, printData, printJson } from '../console/output.ts';
import { CommandError, readJson, type Session } from '../console/session.ts';
import {
  printAbilities,
  printPayment,
  readPaymentAt,
  refundSmallest,
  warningsOf,
} from '../reports/account-check.ts';

const setHelp = `
Credentials are JSON, from --credentials-file or stdin. They are never an argument: every user of the machine can read
arguments, and the shell keeps them in its history. They are stored encrypted and never shown.

${Object.values(processorKinds).map(credentialsLine).join('\n')}

"apiBase": "http://127.0.0.1:4010" sends requests to the sandbox. Without it they go to the real processor, also during
npm run dev.

${Object.values(processorKinds)
  .flatMap(({ credentialsNote }) => credentialsNote ?? [])
  .map((note) => `${note}\n\n`)
  .join(
    '',
  )}Setting an account again replaces all of its credentials, in every process, and retries refunds that waited for credentials. The
new credentials must belong to the same account at the processor: those of another one are not stored unless --force is given, and those
of one that the organization has under another name never.

The credentials are tested before they are stored, without moving money. Those that the processor refuses altogether are not stored
unless --force is given. When it cannot be reached, they are stored with a warning.
`;

const checkHelp = `
Tests what the credentials may do, without moving money, and notes it on the account. Exits with 1 if the processor refuses anything
of it, or did not answer; webhooks are reported alone.

--payment also reads a payment, and shows what of it could be refunded. --refund refunds the smallest amount of that payment, in the test
environment alone. The service keeps that refund on record.
`;

function credentialsLine({ name, credentialFields }: ProcessorKind<unknown>): string {
  const shown = credentialFields.filter(({ example }) => example !== undefined);
  return `  ${name.padEnd(9)}  {${shown.map((field) => `"${field.name}": "${field.example}"`).join(', ')}}`;
}

const rateHelp = `
The limit applies to each kind of call of the account apart, such as sending refunds and reading payments, over all workers. Stripe allows
25 per second of each, unless it has granted more. Braintree documents no number.
`;

const defaultsHelp = `
A request for a refund that says otherwise comes first. What a payment does not have is left out: no transfer, or no application fee.
`;

const name = text('<name>', 'the account with this name (default: the default account of the processor)');

const callRate = required(
  reading('<number>', 'calls per second; 0 for no limit, default for the setting', (text) => {
    if (text === 'default') return text;
    if (/^\d{1,6}$/.test(text)) return Number(text);
    throw new InvalidArgumentError('Give a number from 0 to 999999, or default.');
  }),
);

/** The processor accounts of organizations. */
export const accountCommands = commands('set up, limit and list processor accounts', {
  set: command({
    description: 'set up an account at a processor, or replace its credentials, and print its id',
    options: {
      ...{ organization, environment, processor, name },
      credentialsFile: text('<file>', 'file with the credentials (default: stdin)'),
      force: flag('also if the processor refuses the credentials, or they belong to another of its accounts'),
    },
    explanation: setHelp,
    examples: [
      '--organization org_... --environment test --processor stripe --credentials-file stripe.json',
      '--organization org_... --environment live --processor stripe --name shop-eu --credentials-file shop-eu.json',
      '--organization org_... --environment live --processor braintree < braintree.json',
    ],
    async run(
      session,
      { organization: organizationId, environment, processor, name, credentialsFile, force = false },
    ) {
      const credentials = await readJson(credentialsFile, 'credentials');
      const place = { organizationId, environment, processor, name };
      const request = { ...place, credentials, actor: session.actor, force };
      const { id, resumedRefunds, test, isIdentified } = await setTestedAccount(session, request).catch(
        refuse,
      );
      printData(id);
      explainTest(test, processor);
      if (!isIdentified) explain(`Warning: ${unidentified(displayNameOf(processor))}`);
      explain(`Stored the ${environment} credentials for ${name ?? processor}.`);
      explain(`Webhook path: /webhooks/${processor}/${id}`);
      if (resumedRefunds > 0) explain(`Retrying ${resumedRefunds} refunds that waited for credentials.`);
    },
  }),
  check: command({
    description: 'test what the credentials of an account may do, without moving money',
    options: {
      ...{ organization, environment, processor, name },
      payment: text('<id>', "also read this payment, by the processor's id"),
      refund: flag('refund the smallest amount of that payment (test environment only)'),
      json,
    },
    explanation: checkHelp,
    examples: [
      '--organization org_... --environment live --processor stripe',
      '--organization org_... --environment test --processor stripe --payment ch_... --refund',
    ],
    async run(
      session,
      { organization: organizationId, environment, processor, name, payment, refund, json },
    ) {
      if (refund && environment === 'live')
        throw new CommandError('--refund would move real money. Use the test environment.');
      if (refund && payment === undefined) throw new CommandError('--refund needs --payment.');
      const account = await accountToCheck(session, { organizationId, environment, processor, name });
      const test = await testConnection(session, { account, actor: session.actor });
      if (json) printJson(test);
      else printAbilities(test.abilities);
      if (test.verdict !== 'works') {
        process.exitCode = 1;
        explainTest(test, processor);
      }
      if (payment === undefined || test.verdict === 'unusable') return;
      const read = await readPaymentAt(session, account, payment);
      printData('');
      printPayment(read);
      if (!refund) return;
      printData('');
      await refundSmallest(session, account, read);
    },
  }),
  rate: command({
    description:
      'set how many calls per second an account gets, in place of PROCESSOR_ACCOUNT_CALLS_PER_SECOND',
    options: { ...{ organization, environment, processor, name }, callsPerSecond: callRate },
    explanation: rateHelp,
    examples: ['--organization org_... --environment live --processor stripe --calls-per-second 80'],
    async run(
      session,
      { organization: organizationId, environment, processor, name, callsPerSecond: chosen },
    ) {
      const callsPerSecond = chosen === 'default' ? null : chosen;
      const place = { organizationId, environment, processor, name };
      const request = { ...place, callsPerSecond, actor: session.actor };
      await setCallsPerSecond(session, request);
      explain('Stored the rate. Workers use it for the next call.');
    },
  }),
  defaults: command({
    description:
      'set what refunds do with the transfer and the application fee of their payment, unless they say otherwise',
    options: {
      ...{ organization, environment, processor, name },
      transfers: required(
        choice('<what>', transferDefaults, 'keep the transfer, or reverse it in proportion'),
      ),
      applicationFees: required(
        choice('<what>', applicationFeeDefaults, 'keep the application fee, or refund it in proportion'),
      ),
    },
    explanation: defaultsHelp,
    examples: [
      '--organization org_... --environment live --processor stripe --transfers reverse --application-fees refund',
    ],
    async run(
      session,
      { organization: organizationId, environment, processor, name, transfers, applicationFees },
    ) {
      const place = { organizationId, environment, processor, name };
      await setRefundDefaults(session, { ...place, transfers, applicationFees, actor: session.actor });
      explain('Stored. It is so for refunds that are requested from now on.');
    },
  }),
  list: listing({
    description: 'list the processor accounts of an organization, without their credentials',
    options: { organization },
    examples: ['--organization org_...'],
    read: async ({ db, clock }, { organization }) => {
      const accounts = await listProcessorAccounts(db, organization);
      return accounts.map((account) => ({ ...account, limited: limitedOperations(account, clock.now()) }));
    },
    empty: 'The organization has no processor accounts.',
    columns: {
      ID: ({ id }) => id,
      ENVIRONMENT: ({ environment }) => environment,
      PROCESSOR: ({ processor }) => processor,
      NAME: ({ name, isDefault }) => (isDefault ? `${name} (default)` : name),
      'CREDENTIALS UPDATED': ({ updatedAt }) => updatedAt,
      'TRANSFERS, FEES': ({ transfers, applicationFees }) => `${transfers}, ${applicationFees}`,
      'SENT METADATA': ({ sentMetadataKeys }) => sentMetadataKeys.join(', '),
      WORKS: (account) => abilitiesIn(account, 'works'),
      REFUSED: (account) => refusalsOf(account).join(', ') || null,
      'REFUSED SINCE': ({ misconfiguredAt }) => misconfiguredAt,
      'CALLS PER SECOND': ({ callsPerSecond }) => callsPerSecond,
      'RATE LIMITED': ({ limited }) =>
        limited
          .map(({ operation, limitedUntil }) => `${operation} until ${limitedUntil.toISOString()}`)
          .join(', '),
    },
  }),
});

function abilitiesIn(account: AccountSummary, state: 'works'): string | null {
  return abilities.filter((each) => stateOf(abilitiesOf(account), each) === state).join(', ') || null;
}

async function accountToCheck(session: Session, key: AccountPlace): Promise<AccountName> {
  await findOrganization(session.db, key.organizationId);
  if ((await session.db.processorAccount.count({ where: accountAt(key) })) > 0)
    return await findAccount(session.db, key);
  throw new CommandError(
    `No ${key.processor} account is set up in the ${key.environment} environment. Use: account set`,
  );
}

function explainTest(test: ConnectionTest, processor: string): void {
  for (const warning of warningsOf(test, displayNameOf(processor))) explain(`Warning: ${warning}`);
}

function unidentified(processor: string): string {
  return `${processor} did not say which account these credentials belong to, so a second name for it would not be noticed. A restricted key needs the permission to read its own account.`;
}

/** @throws CommandError for refused credentials and those of another account, any other error again. */
function refuse(error: unknown): never {
  if (error instanceof RefusedCredentialsError) printAbilities(error.test.abilities);
  else if (error instanceof OtherAccountError) explain(error.message);
  else throw error;
  throw new CommandError('Nothing was stored. Correct the credentials, or store these with --force.', {
    cause: error,
  });
}
