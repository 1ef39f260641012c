import { channelContext } from '#shared/notifications/channel.ts';
import { clientSecretContext } from '#shared/people/company-sign-in/provider.ts';
import { secretContext } from '#shared/people/sign-in/second-factor.ts';
import { reencrypt, type SealedTable } from '#shared/platform/secrets/reencrypt.ts';
import { type AccountName, credentialContext } from '#shared/processors/accounts/account.ts';
import { reencryptEndpointSecrets } from '#shared/webhooks/manage-endpoints.ts';
import { command, commands } from '../console/command.ts';
import { explain } from '../console/output.ts';

const reencryptHelp = `
Run it after every process was started with the new key as ENCRYPTION_KEY and the old one in ENCRYPTION_PREVIOUS_KEYS, and with
the same settings. The old key can then be removed.
`;

const accounts: SealedTable = {
  ...{ table: 'processor_account', id: 'id', secret: 'encrypted_credentials' },
  contextOf: ({ organization_id, ...row }) =>
    credentialContext({ organizationId: organization_id, ...row } as AccountName),
};
const secondFactors: SealedTable = {
  ...{ table: 'second_factor', id: 'user_id', secret: 'encrypted_secret' },
  contextOf: ({ user_id = '' }) => secretContext(user_id),
};
const providers: SealedTable = {
  ...{ table: 'identity_provider', id: 'organization_id', secret: 'encrypted_client_secret' },
  contextOf: ({ organization_id = '' }) => clientSecretContext(organization_id),
};
const channels: SealedTable = {
  ...{ table: 'notification_channel', id: 'id', secret: 'encrypted_url' },
  contextOf: ({ id = '' }) => channelContext(id),
};

/** What is stored encrypted. */
export const secretsCommands = commands('manage the encryption of stored secrets', {
  reencrypt: command({
    description:
      'encrypt processor credentials, webhook secrets, second factors, client secrets of providers and notification channels with ENCRYPTION_KEY',
    explanation: reencryptHelp,
    examples: [''],
    async run(session) {
      const counts = [
        `processor accounts: ${await reencrypt(session, accounts)}`,
        `webhook endpoints: ${await reencryptEndpointSecrets(session)}`,
        `second factors: ${await reencrypt(session, secondFactors)}`,
        `company sign-ins: ${await reencrypt(session, providers)}`,
        `notification channels: ${await reencrypt(session, channels)}`,
      ];
      explain(`Encrypted with ENCRYPTION_KEY: ${counts.join(', ')}.`);
    },
  }),
});
