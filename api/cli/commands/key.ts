import { InvalidArgumentError } from 'commander';
import type { z } from 'zod';
import {
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
import { type AgentLimits, agentLimitsSchema } from '#shared/policies/agent-limits.ts';
import { refundReasons } from '#shared/refund-request/reasons.ts';
import { command, commands, type ValuesOf } from '../console/command.ts';
import { days, environment, flag, json, organization, reading, someOf, text } from '../console/options.ts';
import { explain, printData, printList } from '../console/output.ts';
import {
  countOf,
  explainDisabledEndpoints,
  explainRemainingEndpoints,
  explainRemainingKeys,
} from '../console/remaining-keys.ts';
import { CommandError } from '../console/session.ts';

const { shape } = agentLimitsSchema;

/** An amount in minor units. */
const amount = (schema: z.ZodType<bigint | undefined>, about: string) =>
  reading('<amount>', `for agents: ${about}`, (text) =>
    checked(schema, /^\d+$/.test(text) ? Number(text) : Number.NaN),
  );

const limits = {
  agentCurrency: reading('<code>', 'for agents: the currency of their refunds and of all limits', (text) =>
    checked(shape.currency, text),
  ),
  maxPerRefund: amount(shape.maxPerRefund, 'maximum amount of one refund'),
  maxPerPayment: amount(shape.maxPerPayment, 'maximum amount of all refunds of one payment'),
  maxPerDay: amount(shape.maxPerDay, 'maximum amount that the key requests in 24 hours'),
  allowReason: someOf('<reason...>', refundReasons, 'for agents: the allowed reasons'),
  approvalAbove: amount(
    shape.approvalAbove,
    'amount above which all refunds of one payment require approval',
  ),
};

const argument = ['<keyId>', 'as shown by `key list`'] as const;

/** The API keys of backends and agents. */
export const keyCommands = commands('create, list, stop and revoke API keys', {
  create: command({
    description: 'create an API key and print it once, alone on stdout; only its hash is stored',
    options: {
      ...{ organization, environment },
      name: text('<name>', 'for lists and the audit log'),
      scope: someOf('<scope...>', apiKeyScopes, `what it may do; by default ${defaultScopes.join(', ')}`),
      expiresInDays: days(
        'by default it never expires',
        1,
        maxExpiryDays,
        `Give a whole number of days, 1 to ${maxExpiryDays}.`,
      ),
      ...limits,
    },
    examples: [
      '--organization org_... --environment test',
      "--organization org_... --environment live --name 'Shop backend' > key.txt",
      '--organization org_... --environment live --scope refunds:read --scope refunds:approve',
      "--organization org_... --environment live --name 'Support agent' --agent-currency usd --max-per-refund 5000",
    ],
    async run(session, { organization: organizationId, environment, name = '', ...given }) {
      const { scope: scopes = defaultScopes, expiresInDays } = given;
      const { id, plaintext, key } = await createApiKey(session, {
        ...{ organizationId, environment, actor: session.actor, name, scopes },
        expiresAt: expiresInDays === undefined ? null : expiryAfter(expiresInDays, session.clock.now()),
        agentLimits: agentLimitsFrom(given),
      });
      explain(
        `Created ${id} for the ${environment} environment, with ${key.scopes.join(', ')}. It is shown once:`,
      );
      printData(plaintext);
    },
  }),
  list: command({
    description: 'list the API keys of an organization',
    options: { organization, json },
    examples: ['--organization org_...'],
    async run({ db, clock }, { organization, json }) {
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
    },
  }),
  stop: switching('refuse an API key, effective immediately, until it is resumed', true),
  resume: switching('accept a stopped API key again', false),
  revoke: command({
    description: 'revoke an API key permanently, effective immediately',
    argument,
    options: {
      withCreated: flag(
        'revoke the API keys that were created with it, too, and disable the webhook endpoints that it or they created; ' +
          'backends and agents that use these keys fail at once',
      ),
    },
    examples: ['key_...', 'key_... --with-created'],
    async run(session, { withCreated = false }, keyId) {
      const request = { keyId, actor: session.actor, withCreated };
      const { alreadyRevoked, created, endpoints } = await revokeApiKey(session, request);
      explain(alreadyRevoked ? `${keyId} was already revoked.` : `Revoked ${keyId}.`);
      if (withCreated) {
        explain(`Revoked ${countOf(created)} created with it.`);
        return explainDisabledEndpoints(endpoints);
      }
      explainRemainingKeys(keyId, created);
      explainRemainingEndpoints(endpoints);
      if (created.length > 0) explain(`Or end them all: key revoke ${keyId} --with-created`);
    },
  }),
});

function switching(description: string, isStopped: boolean) {
  return command({
    description,
    argument,
    examples: ['key_...'],
    async run(session, _options, keyId) {
      await changeApiKey(session, { keyId, actor: session.actor, change: { isStopped } });
      explain(`${isStopped ? 'Stopped' : 'Resumed'} ${keyId}.`);
    },
  });
}

/**
 * The limits that were given; null without any.
 * @throws CommandError for limits without a currency.
 */
function agentLimitsFrom(given: ValuesOf<typeof limits>): AgentLimits | null {
  const { agentCurrency, allowReason, maxPerRefund, maxPerPayment, maxPerDay, approvalAbove } = given;
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
