import { InvalidArgumentError, Option } from 'commander';
import type { z } from 'zod';
import {
  type ApiKeyScope,
  apiKeyScopes,
  apiKeyStatus,
  createApiKey,
  defaultScopes,
  expiryAfter,
  maxExpiryDays,
  revokeApiKey,
} from '#shared/organizations/api-keys.ts';
import { changeApiKey } from '#shared/organizations/change-api-key.ts';
import { listApiKeys } from '#shared/organizations/list-api-keys.ts';
import type { Environment } from '#shared/platform/environment.ts';
import { type AgentLimits, agentLimitsSchema } from '#shared/policies/agent-limits.ts';
import { refundReasons } from '#shared/refunds/model/reasons.ts';
import type { AdminCommand } from '../console/admin-command.ts';
import {
  environmentOption,
  jsonOption,
  type Owner,
  organizationOption,
  type Shown,
  wholeNumber,
} from '../console/options.ts';
import { explain, printData, printList } from '../console/output.ts';
import {
  countOf,
  explainDisabledEndpoints,
  explainRemainingEndpoints,
  explainRemainingKeys,
} from '../console/remaining-keys.ts';
import { CommandError, type Session } from '../console/session.ts';

/** `key`: the API keys of backends and agents. */
export function addKeyCommands(program: AdminCommand): void {
  const key = program.command('key').description('create, list, limit, stop and revoke API keys');
  addCreateCommand(key);
  key
    .command('list')
    .description('list the API keys of an organization')
    .addOption(organizationOption)
    .addOption(jsonOption)
    .examples('key list --organization org_...')
    .run(listKeys);
  addLimitCommand(key);
  addSwitchCommand(key, 'stop', 'refuse an API key, effective immediately, until it is resumed');
  addSwitchCommand(key, 'resume', 'accept a stopped API key again');
  key
    .command('revoke')
    .description('revoke an API key permanently, effective immediately')
    .argument('<keyId>', 'as shown by `key list`')
    .option(
      '--with-created',
      'revoke the API keys that were created with it, too, and disable the webhook endpoints that it or they created; ' +
        'backends and agents that use these keys fail at once',
    )
    .examples('key revoke key_...', 'key revoke key_... --with-created')
    .run(revokeKey);
}

function addCreateCommand(key: AdminCommand): void {
  const create = key
    .command('create')
    .description('create an API key and print it once, alone on stdout; only its hash is stored')
    .addOption(organizationOption)
    .addOption(environmentOption)
    .option('--name <name>', 'for lists and the audit log')
    .addOption(
      new Option('--scope <scope...>', `what it may do; by default ${defaultScopes.join(', ')}`).choices(
        apiKeyScopes,
      ),
    )
    .addOption(
      new Option('--expires-in-days <days>', 'by default it never expires').argParser(
        wholeNumber(1, maxExpiryDays, `Give a whole number of days, 1 to ${maxExpiryDays}.`),
      ),
    );
  addAgentLimitOptions(create)
    .examples(
      'key create --organization org_... --environment test',
      "key create --organization org_... --environment live --name 'Shop backend' > key.txt",
      'key create --organization org_... --environment live --scope refunds:read --scope refunds:approve',
      "key create --organization org_... --environment live --name 'Support agent' --agent-currency usd --max-per-refund 5000",
    )
    .run(createKey);
}

function addLimitCommand(key: AdminCommand): void {
  const limit = key
    .command('limit')
    .description('replace all limits of an API key that was made for agents')
    .argument('<keyId>', 'as shown by `key list`');
  addAgentLimitOptions(limit)
    .examples('key limit key_... --agent-currency usd --max-per-refund 5000 --max-per-day 50000')
    .run(limitKey);
}

function addSwitchCommand(key: AdminCommand, name: 'stop' | 'resume', description: string): void {
  const isStopped = name === 'stop';
  key
    .command(name)
    .description(description)
    .argument('<keyId>', 'as shown by `key list`')
    .examples(`key ${name} key_...`)
    .run(async (session, keyId: string) => {
      await changeApiKey(session, { keyId, actor: session.actor, change: { isStopped } });
      explain(`${isStopped ? 'Stopped' : 'Resumed'} ${keyId}.`);
    });
}

type CreateOptions = Owner &
  AgentLimitOptions & {
    environment: Environment;
    name?: string;
    scope?: ApiKeyScope[];
    expiresInDays?: number;
  };

async function createKey(session: Session, options: CreateOptions): Promise<void> {
  const { organization: organizationId, environment, name = '', scope: scopes, expiresInDays } = options;
  const { id, plaintext, key } = await createApiKey(session, {
    organizationId,
    environment,
    actor: session.actor,
    name,
    expiresAt: expiresInDays === undefined ? null : expiryAfter(expiresInDays, session.clock.now()),
    agentLimits: agentLimitsFrom(options),
    ...(scopes === undefined ? {} : { scopes }),
  });
  explain(
    `Created ${id} for the ${environment} environment, with ${key.scopes.join(', ')}. It is shown once:`,
  );
  printData(plaintext);
}

async function listKeys({ db, clock }: Session, { organization, json }: Owner & Shown): Promise<void> {
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
}

async function limitKey(session: Session, keyId: string, options: AgentLimitOptions): Promise<void> {
  const limits = agentLimitsFrom(options);
  if (limits === null) throw new CommandError('Give the limits, beginning with --agent-currency.');
  await changeApiKey(session, { keyId, actor: session.actor, change: { limits } });
  explain(`Set the limits of ${keyId}.`);
}

async function revokeKey(session: Session, keyId: string, options: { withCreated?: true }): Promise<void> {
  const { withCreated = false } = options;
  const request = { keyId, actor: session.actor, withCreated };
  const { alreadyRevoked, created, endpoints } = await revokeApiKey(session, request);
  explain(alreadyRevoked ? `${keyId} was already revoked.` : `Revoked ${keyId}.`);
  if (withCreated) explain(`Revoked ${countOf(created)} created with it.`);
  else explainRemainingKeys(keyId, created);
  if (withCreated) explainDisabledEndpoints(endpoints);
  else explainRemainingEndpoints(endpoints);
  if (!withCreated && created.length > 0) {
    explain(`Or end them all: key revoke ${keyId} --with-created`);
  }
}

/** The values of the options for an agent key's limits. */
interface AgentLimitOptions extends Omit<AgentLimits, 'currency' | 'reasons'> {
  agentCurrency?: string;
  allowReason?: AgentLimits['reasons'];
}

const { shape } = agentLimitsSchema;

/** Adds the limits of an agent key to a command. Amounts are in minor units. */
function addAgentLimitOptions(command: AdminCommand): AdminCommand {
  const addAmount = (flag: string, schema: z.ZodType, about: string) =>
    command.option(`${flag} <amount>`, `for agents: ${about}`, (text) => checked(schema, amountOf(text)));
  command.option(
    '--agent-currency <code>',
    'for agents: the currency of their refunds and of all limits',
    (text) => checked(shape.currency, text),
  );
  addAmount('--max-per-refund', shape.maxPerRefund, 'maximum amount of one refund');
  addAmount('--max-per-payment', shape.maxPerPayment, 'maximum amount of all refunds of one payment');
  addAmount('--max-per-day', shape.maxPerDay, 'maximum amount that the key requests in 24 hours');
  command.addOption(
    new Option('--allow-reason <reason...>', 'for agents: the allowed reasons').choices(refundReasons),
  );
  return addAmount(
    '--approval-above',
    shape.approvalAbove,
    'amount above which all refunds of one payment require approval',
  );
}

function amountOf(text: string): number {
  return /^\d+$/.test(text) ? Number(text) : Number.NaN;
}

/**
 * The limits that were given; null without any.
 * @throws CommandError for limits without a currency.
 */
function agentLimitsFrom(options: AgentLimitOptions): AgentLimits | null {
  const { agentCurrency, allowReason, maxPerRefund, maxPerPayment, maxPerDay, approvalAbove } = options;
  const limits = { maxPerRefund, maxPerPayment, maxPerDay, reasons: allowReason, approvalAbove };
  if (agentCurrency !== undefined) return { currency: agentCurrency, ...limits };
  if (Object.values(limits).every((limit) => limit === undefined)) return null;
  throw new CommandError('--agent-currency: name the currency of the limits, for example usd.');
}

/** @throws InvalidArgumentError, which names what the schema requires. */
function checked<Value>(schema: z.ZodType<Value>, given: unknown): Value {
  const { success, data, error } = schema.safeParse(given);
  if (success) return data;
  throw new InvalidArgumentError(`It ${error.issues[0]?.message}.`);
}
