import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  type ApiKeyScope,
  apiKeyScopes,
  apiKeyStatus,
  createApiKey,
  defaultScopes,
  expiryAfter,
  maxExpiryDays,
  revokeApiKey,
} from '../../../shared/organizations/api-keys.ts';
import { changeApiKey } from '../../../shared/organizations/change-api-key.ts';
import { listApiKeys } from '../../../shared/organizations/list-api-keys.ts';
import type { Environment } from '../../../shared/platform/environment.ts';
import {
  type AgentLimitOptions,
  addAgentLimitOptions,
  agentLimitsFrom,
} from '../console/agent-limit-options.ts';
import {
  environmentOption,
  examples,
  jsonOption,
  type Owner,
  organizationOption,
  type Shown,
} from '../console/options.ts';
import { explain, printData, printList } from '../console/output.ts';
import { countOf, explainRemainingKeys } from '../console/remaining-keys.ts';
import { CommandError, withDependencies } from '../console/session.ts';

/** `key`: the API keys of backends and agents. */
export function addKeyCommands(program: Command): void {
  const key = program.command('key').description('create, list, limit, stop and revoke API keys');
  addCreateCommand(key);
  key
    .command('list')
    .description('list the API keys of an organization')
    .addOption(organizationOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('key list --organization org_...'))
    .action(listKeys);
  addLimitCommand(key);
  addSwitchCommand(key, 'stop', 'refuse an API key, effective immediately, until it is resumed');
  addSwitchCommand(key, 'resume', 'accept a stopped API key again');
  key
    .command('revoke')
    .description('revoke an API key permanently, effective immediately')
    .argument('<keyId>', 'as shown by `key list`')
    .option(
      '--with-created',
      'revoke the API keys that were created with it, too; backends and agents that use them fail at once',
    )
    .addHelpText('after', examples('key revoke key_...', 'key revoke key_... --with-created'))
    .action(revokeKey);
}

function addCreateCommand(key: Command): void {
  const create = key
    .command('create')
    .description('create an API key and print it once, alone on stdout; only its hash is stored')
    .addOption(organizationOption())
    .addOption(environmentOption())
    .option('--name <name>', 'for lists and the audit log')
    .addOption(
      new Option(
        '--scope <scope...>',
        `what it may do; by default ${defaultScopes.join(', ')} (without webhooks:manage for agents)`,
      ).choices(apiKeyScopes),
    )
    .addOption(new Option('--expires-in-days <days>', 'by default it never expires').argParser(readDays));
  addAgentLimitOptions(create)
    .addHelpText(
      'after',
      examples(
        'key create --organization org_... --environment test',
        "key create --organization org_... --environment live --name 'Shop backend' > key.txt",
        'key create --organization org_... --environment live --scope refunds:read --scope refunds:approve',
        "key create --organization org_... --environment live --name 'Support agent' --agent-currency usd --max-per-refund 5000",
      ),
    )
    .action(createKey);
}

function addLimitCommand(key: Command): void {
  const limit = key
    .command('limit')
    .description('replace all limits of an API key that was made for agents')
    .argument('<keyId>', 'as shown by `key list`');
  addAgentLimitOptions(limit)
    .addHelpText(
      'after',
      examples('key limit key_... --agent-currency usd --max-per-refund 5000 --max-per-day 50000'),
    )
    .action(limitKey);
}

function addSwitchCommand(key: Command, name: 'stop' | 'resume', description: string): void {
  const isStopped = name === 'stop';
  key
    .command(name)
    .description(description)
    .argument('<keyId>', 'as shown by `key list`')
    .addHelpText('after', examples(`key ${name} key_...`))
    .action(async (keyId: string) => {
      await withDependencies(async (deps, actor) => {
        await changeApiKey(deps, { keyId, actor, change: { isStopped } });
        explain(`${isStopped ? 'Stopped' : 'Resumed'} ${keyId}.`);
      });
    });
}

function readDays(text: string): number {
  const days = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (days >= 1 && days <= maxExpiryDays) return days;
  throw new InvalidArgumentError(`Give a whole number of days, 1 to ${maxExpiryDays}.`);
}

type CreateOptions = Owner &
  AgentLimitOptions & {
    environment: Environment;
    name?: string;
    scope?: ApiKeyScope[];
    expiresInDays?: number;
  };

async function createKey(options: CreateOptions): Promise<void> {
  const { organization: organizationId, environment, name = '', scope, expiresInDays } = options;
  const agentLimits = agentLimitsFrom(options);
  await withDependencies(async (deps, actor) => {
    const expiresAt = expiresInDays === undefined ? null : expiryAfter(expiresInDays, deps.clock.now());
    const { id, plaintext, key } = await createApiKey(deps, {
      organizationId,
      environment,
      actor,
      name,
      expiresAt,
      agentLimits,
      ...(scope === undefined ? {} : { scopes: scope }),
    });
    explain(
      `Created ${id} for the ${environment} environment, with ${key.scopes.join(', ')}. It is shown once:`,
    );
    printData(plaintext);
  });
}

async function listKeys({ organization, json }: Owner & Shown): Promise<void> {
  await withDependencies(async ({ db, clock }) => {
    const now = clock.now();
    printList(await listApiKeys(db, organization), {
      json,
      empty: 'The organization has no API keys.',
      columns: {
        ID: ({ id }) => id,
        NAME: ({ name }) => name || null,
        KEY: ({ environment, lastFour }) => `svc_${environment}_...${lastFour}`,
        STATUS: (key) => apiKeyStatus(key, now),
        SCOPES: ({ scopes }) => scopes.join(','),
        'AGENT LIMITS': ({ agentLimits }) => (agentLimits === null ? null : JSON.stringify(agentLimits)),
        'CREATED BY': ({ createdBy }) => createdBy,
        CREATED: ({ createdAt }) => createdAt,
        'LAST USED': ({ lastUsedAt }) => lastUsedAt,
        EXPIRES: ({ expiresAt }) => expiresAt,
      },
    });
  });
}

async function limitKey(keyId: string, options: AgentLimitOptions): Promise<void> {
  const limits = agentLimitsFrom(options);
  if (limits === null) throw new CommandError('Give the limits, beginning with --agent-currency.');
  await withDependencies(async (deps, actor) => {
    await changeApiKey(deps, { keyId, actor, change: { limits } });
    explain(`Set the limits of ${keyId}.`);
  });
}

async function revokeKey(keyId: string, { withCreated = false }: { withCreated?: boolean }): Promise<void> {
  await withDependencies(async (deps, actor) => {
    const { alreadyRevoked, created } = await revokeApiKey(deps, { keyId, actor, withCreated });
    explain(alreadyRevoked ? `${keyId} was already revoked.` : `Revoked ${keyId}.`);
    if (withCreated) return explain(`Revoked ${countOf(created)} created with it.`);
    explainRemainingKeys(keyId, created);
    if (created.length > 0) explain(`Or revoke them all: key revoke ${keyId} --with-created`);
  });
}
