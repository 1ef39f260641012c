import type { Command } from 'commander';
import type { Environment } from '../../../shared/platform/environment.ts';
import {
  listProcessorAccounts,
  setProcessorAccount,
} from '../../../shared/processors/accounts/manage-accounts.ts';
import {
  environmentOption,
  examples,
  jsonOption,
  organizationOption,
  processorOption,
} from '../console/options.ts';
import { explain, printData, printJson, printTable } from '../console/output.ts';
import { readJson } from '../console/read-json.ts';
import { withDependencies } from '../console/session.ts';

interface Owner {
  organization: string;
}

const setHelp = `
Credentials are JSON, from --credentials-file or from stdin. They are never given as an argument, because arguments can
be read by every user of the machine and stay in the shell's history. They are stored encrypted and not shown again.

  stripe     {"secretKey": "sk_test_...", "webhookSecret": "whsec_..."}
  braintree  {"merchantId": "...", "publicKey": "...", "privateKey": "..."}

"apiBase": "http://127.0.0.1:4010" besides points either at the sandbox; without it the account is the real one's, also on
npm run dev.

webhookSecret is the signing secret of the webhook endpoint at Stripe, and may be left out until there is one; until then
no webhook of the account is taken.

Setting an account again replaces its credentials, in every process at once, and tries again what they held up. The new
ones have to be of the same account at the processor.
`;

/** `account`: where an organization's money is, and the credentials for it. */
export function addAccountCommands(program: Command): void {
  const account = program.command('account').description('set up and list processor accounts');
  account
    .command('set')
    .description('set up an account at a processor, or replace its credentials, and print its id')
    .addOption(organizationOption())
    .addOption(environmentOption())
    .addOption(processorOption())
    .option('--credentials-file <file>', 'where the credentials are; stdin unless given')
    .addHelpText('after', setHelp)
    .addHelpText(
      'after',
      examples(
        'account set --organization org_... --environment test --processor stripe --credentials-file stripe.json',
        'account set --organization org_... --environment live --processor braintree < braintree.json',
      ),
    )
    .action(setAccount);
  account
    .command('list')
    .description('list the processor accounts of an organization, without their credentials')
    .addOption(organizationOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('account list --organization org_...'))
    .action(listAccounts);
}

interface SetOptions extends Owner {
  environment: Environment;
  processor: string;
  credentialsFile?: string;
}

async function setAccount(options: SetOptions): Promise<void> {
  const { organization: organizationId, environment, processor, credentialsFile } = options;
  const credentials = await readJson(credentialsFile, 'credentials');
  await withDependencies(async (deps, actor) => {
    const request = { organizationId, environment, processor, credentials, actor };
    const { id, resumedRefunds } = await setProcessorAccount(deps, request);
    printData(id);
    explain(`Stored the ${environment} credentials for ${processor}.`);
    explain(`Its webhooks go to /webhooks/${processor}/${id} of the API.`);
    if (resumedRefunds > 0) explain(`Refunds that are tried again now: ${resumedRefunds}.`);
  });
}

async function listAccounts({ organization, json }: Owner & { json?: true }): Promise<void> {
  await withDependencies(async ({ db }) => {
    const accounts = await listProcessorAccounts(db, organization);
    if (json) return printJson(accounts);
    if (accounts.length === 0) return explain('The organization has no processor account yet.');
    printTable(
      [
        'ID',
        'ENVIRONMENT',
        'PROCESSOR',
        'CREDENTIALS SET',
        'REFUSED BY THE PROCESSOR SINCE',
        'THROTTLED UNTIL',
      ],
      accounts.map((account) => [
        account.id,
        account.environment,
        account.processor,
        account.updatedAt,
        account.misconfiguredAt,
        account.throttledUntil,
      ]),
    );
  });
}
