import type { Command } from 'commander';
import { reencryptChannels } from '#shared/notifications/channel.ts';
import { reencryptClientSecrets } from '#shared/people/company-sign-in/provider.ts';
import { reencryptSecondFactors } from '#shared/people/sign-in/second-factor.ts';
import { reencryptAccountCredentials } from '#shared/processors/accounts/reencrypt-accounts.ts';
import { reencryptEndpointSecrets } from '#shared/webhooks/reencrypt-endpoints.ts';
import { examples } from '../console/options.ts';
import { explain } from '../console/output.ts';
import { type Session, withSession } from '../console/session.ts';

const reencryptHelp = `
Run it after every process was started with the new key as ENCRYPTION_KEY and the old one in ENCRYPTION_PREVIOUS_KEYS, and with
the same settings. The old key can then be removed.
`;

/** `secrets`: what is stored encrypted. */
export function addSecretsCommands(program: Command): void {
  const secrets = program.command('secrets').description('manage the encryption of stored secrets');
  secrets
    .command('reencrypt')
    .description(
      'encrypt processor credentials, webhook secrets, second factors, client secrets of providers and notification channels with ENCRYPTION_KEY',
    )
    .addHelpText('after', reencryptHelp)
    .addHelpText('after', examples('secrets reencrypt'))
    .action(withSession(reencrypt));
}

async function reencrypt(session: Session): Promise<void> {
  const accounts = await reencryptAccountCredentials(session);
  const endpoints = await reencryptEndpointSecrets(session);
  const secondFactors = await reencryptSecondFactors(session);
  const providers = await reencryptClientSecrets(session);
  const channels = await reencryptChannels(session);
  explain(
    `Encrypted with ENCRYPTION_KEY: processor accounts: ${accounts}, webhook endpoints: ${endpoints}, second factors: ${secondFactors}, company sign-ins: ${providers}, notification channels: ${channels}.`,
  );
}
