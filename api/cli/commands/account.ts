import type { Environment } from '#shared/platform/environment.ts';
import { listProcessorAccounts, setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { maxSentKeys, setSentMetadata } from '#shared/processors/accounts/sent-metadata.ts';
import type { ProcessorKind } from '#shared/processors/contract/processor.ts';
import { processorKinds } from '#shared/processors/registry.ts';
import type { AdminCommand } from '../console/admin-command.ts';
import {
  environmentOption,
  jsonOption,
  type Owner,
  organizationOption,
  processorOption,
  type Shown,
} from '../console/options.ts';
import { explain, printData, printList } from '../console/output.ts';
import { readJson, type Session } from '../console/session.ts';

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
  )}Setting an account again replaces all of its credentials, in every process, and retries refunds that were on hold. The
new credentials must belong to the same account at the processor.
`;

function credentialsLine({ name, credentialFields }: ProcessorKind<unknown>): string {
  const shown = credentialFields.filter(({ example }) => example !== undefined);
  return `  ${name.padEnd(9)}  {${shown.map((field) => `"${field.name}": "${field.example}"`).join(', ')}}`;
}

/** `account`: the processor accounts of organizations. */
export function addAccountCommands(program: AdminCommand): void {
  const account = program.command('account').description('set up and list processor accounts');
  account
    .command('set')
    .description('set up an account at a processor, or replace its credentials, and print its id')
    .addOption(organizationOption)
    .addOption(environmentOption)
    .addOption(processorOption)
    .option('--credentials-file <file>', 'file with the credentials (default: stdin)')
    .explanation(setHelp)
    .examples(
      'account set --organization org_... --environment test --processor stripe --credentials-file stripe.json',
      'account set --organization org_... --environment live --processor braintree < braintree.json',
    )
    .run(setAccount);
  account
    .command('send-metadata')
    .description(
      "choose which keys of a refund's metadata are sent to the processor with it; replaces those before",
    )
    .addOption(organizationOption)
    .addOption(environmentOption)
    .addOption(processorOption)
    .option('--key <key...>', `a key to send, up to ${maxSentKeys}; none to send no metadata`, [])
    .examples(
      'account send-metadata --organization org_... --environment live --processor stripe --key order_id --key ticket',
    )
    .run(sendMetadata);
  account
    .command('list')
    .description('list the processor accounts of an organization, without their credentials')
    .addOption(organizationOption)
    .addOption(jsonOption)
    .examples('account list --organization org_...')
    .run(listAccounts);
}

interface AccountOptions extends Owner {
  environment: Environment;
  processor: string;
}

interface SetOptions extends AccountOptions {
  credentialsFile?: string;
}

async function setAccount(session: Session, options: SetOptions): Promise<void> {
  const { organization: organizationId, environment, processor, credentialsFile } = options;
  const credentials = await readJson(credentialsFile, 'credentials');
  const request = { organizationId, environment, processor, credentials, actor: session.actor };
  const { id, resumedRefunds } = await setProcessorAccount(session, request);
  printData(id);
  explain(`Stored the ${environment} credentials for ${processor}.`);
  explain(`Webhook path: /webhooks/${processor}/${id}`);
  if (resumedRefunds > 0) explain(`Retrying ${resumedRefunds} refunds that were on hold.`);
}

async function sendMetadata(session: Session, options: AccountOptions & { key: string[] }): Promise<void> {
  const { organization: organizationId, environment, processor, key: keys } = options;
  const { actor } = session;
  const sent = await setSentMetadata(session, { organizationId, environment, processor, keys, actor });
  explain(`Metadata that refunds send to ${processor} (${environment}): ${sent.join(', ') || 'none'}.`);
}

async function listAccounts({ db }: Session, { organization, json }: Owner & Shown): Promise<void> {
  printList(await listProcessorAccounts(db, organization), {
    json,
    empty: 'The organization has no processor accounts.',
    columns: {
      ID: ({ id }) => id,
      ENVIRONMENT: ({ environment }) => environment,
      PROCESSOR: ({ processor }) => processor,
      'CREDENTIALS UPDATED': ({ updatedAt }) => updatedAt,
      'SENT METADATA': ({ sentMetadataKeys }) => sentMetadataKeys.join(', '),
      'REJECTED SINCE': ({ misconfiguredAt }) => misconfiguredAt,
      'RATE LIMITED UNTIL': ({ throttledUntil }) => throttledUntil,
    },
  });
}
