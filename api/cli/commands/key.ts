import type { Command } from 'commander';
import { createApiKey, listApiKeys, revokeApiKey } from '../../../shared/organizations/api-keys.ts';
import type { Environment } from '../../../shared/platform/environment.ts';
import { environmentOption, examples, jsonOption, organizationOption } from '../console/options.ts';
import { explain, printData, printJson, printTable } from '../console/output.ts';
import { withDependencies } from '../console/session.ts';

interface Owner {
  organization: string;
}

/** `key`: the API keys of backends. */
export function addKeyCommands(program: Command): void {
  const key = program.command('key').description('create, list and revoke API keys');
  key
    .command('create')
    .description('create an API key and print it once, alone on stdout; only its hash is stored')
    .addOption(organizationOption())
    .addOption(environmentOption())
    .addHelpText(
      'after',
      examples(
        'key create --organization org_... --environment test',
        'key create --organization org_... --environment live > key.txt',
      ),
    )
    .action(createKey);
  key
    .command('list')
    .description('list the API keys of an organization')
    .addOption(organizationOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('key list --organization org_...'))
    .action(listKeys);
  key
    .command('revoke')
    .description('revoke an API key permanently, effective immediately')
    .argument('<keyId>', 'as shown by `key list`')
    .addHelpText('after', examples('key revoke key_...'))
    .action(revokeKey);
}

async function createKey(options: Owner & { environment: Environment }): Promise<void> {
  await withDependencies(async (deps, actor) => {
    const { organization: organizationId, environment } = options;
    const { id, plaintext } = await createApiKey(deps, { organizationId, environment, actor });
    explain(`Created ${id} for the ${environment} environment. It is shown once:`);
    printData(plaintext);
  });
}

async function listKeys({ organization, json }: Owner & { json?: true }): Promise<void> {
  await withDependencies(async ({ db }) => {
    const keys = await listApiKeys(db, organization);
    if (json) return printJson(keys);
    if (keys.length === 0) return explain('The organization has no API keys.');
    printTable(
      ['ID', 'ENVIRONMENT', 'KEY', 'CREATED BY', 'CREATED', 'LAST USED', 'REVOKED'],
      keys.map((key) => [
        key.id,
        key.environment,
        `svc_${key.environment}_...${key.lastFour}`,
        key.createdBy,
        key.createdAt,
        key.lastUsedAt,
        key.revokedAt,
      ]),
    );
  });
}

async function revokeKey(keyId: string): Promise<void> {
  await withDependencies(async (deps, actor) => {
    const { alreadyRevoked } = await revokeApiKey(deps, { keyId, actor });
    explain(alreadyRevoked ? `${keyId} was already revoked.` : `Revoked ${keyId}.`);
  });
}
