import { listProcessorAccounts, setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import type { ProcessorKind } from '#shared/processors/contract/processor.ts';
import { processorKinds } from '#shared/processors/registry.ts';
import { command, commands, listing } from '../console/command.ts';
import { environment, organization, processor, text } from '../console/options.ts';
import { explain, printData } from '../console/output.ts';
import { readJson } from '../console/session.ts';

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

/** The processor accounts of organizations. */
export const accountCommands = commands('set up and list processor accounts', {
  set: command({
    description: 'set up an account at a processor, or replace its credentials, and print its id',
    options: {
      ...{ organization, environment, processor },
      credentialsFile: text('<file>', 'file with the credentials (default: stdin)'),
    },
    explanation: setHelp,
    examples: [
      '--organization org_... --environment test --processor stripe --credentials-file stripe.json',
      '--organization org_... --environment live --processor braintree < braintree.json',
    ],
    async run(session, { organization: organizationId, environment, processor, credentialsFile }) {
      const credentials = await readJson(credentialsFile, 'credentials');
      const request = { organizationId, environment, processor, credentials, actor: session.actor };
      const { id, resumedRefunds } = await setProcessorAccount(session, request);
      printData(id);
      explain(`Stored the ${environment} credentials for ${processor}.`);
      explain(`Webhook path: /webhooks/${processor}/${id}`);
      if (resumedRefunds > 0) explain(`Retrying ${resumedRefunds} refunds that were on hold.`);
    },
  }),
  list: listing({
    description: 'list the processor accounts of an organization, without their credentials',
    options: { organization },
    examples: ['--organization org_...'],
    read: ({ db }, { organization }) => listProcessorAccounts(db, organization),
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
  }),
});
