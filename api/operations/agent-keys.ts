import { z } from 'zod';
import {
  type ApiKeyStatus,
  type ApiKeySummary,
  agentScopes,
  apiKeyStatus,
  checkKeyExpiry,
  checkKeyName,
  createApiKey,
  revokeApiKey,
} from '#shared/organizations/api-keys.ts';
import { changeApiKey } from '#shared/organizations/change-api-key.ts';
import { findAgentKey, listAgentKeys } from '#shared/organizations/list-api-keys.ts';
import type { Clock } from '#shared/platform/clock.ts';
import { environments } from '#shared/platform/environment.ts';
import { agentLimitsSchema } from '#shared/policies/agent-limits.ts';
import {
  checkedBy,
  idParams,
  jsonObject,
  listOutput,
  nullableTimeOutput,
  oneOf,
  required,
  timeOutput,
  wholeList,
} from './fields.ts';
import { operation } from './operation.ts';

const exampleAgentKey = {
  id: 'key_01kahw5e2pf9c8m0r4t6v8x1zb',
  name: 'Support agent',
  environment: 'test',
  lastFour: 'x7Qa',
  scopes: [...agentScopes],
  limits: {
    currency: 'usd',
    maxPerRefund: 5000,
    maxPerDay: 50_000,
    reasons: ['product_not_received', 'product_defective'],
    approvalAbove: 2000,
  },
  status: 'active',
  createdBy: 'key:key_01kahvzr0b7qv3s5j8n2d4f6hk',
  createdAt: '2026-11-20T09:30:00.000Z',
  lastUsedAt: null,
  expiresAt: null,
};

/** The name of a key, in a body. */
const keyNameSchema = z
  .string({ error: required('must be a string') })
  .trim()
  .min(1, { error: 'must not be empty' })
  .superRefine(checkedBy(checkKeyName))
  .meta({ description: '1 to 100 printable characters.', examples: [exampleAgentKey.name] });

/** When a key expires, in a body. */
const expiresAtSchema = (clock: Clock) =>
  z.iso
    .datetime({ offset: true, error: 'must be an ISO 8601 time with a time zone' })
    .superRefine(checkedBy((text) => checkKeyExpiry(new Date(text), clock.now())))
    .nullish()
    .meta({
      description:
        'When the key stops working; by default never, or with the calling key if that expires. A time after that is refused.',
      examples: ['2027-01-01T00:00:00.000Z'],
    });

const { shape } = agentLimitsSchema;

type AmountField = 'maxPerRefund' | 'maxPerPayment' | 'maxPerDay' | 'approvalAbove';

/** An amount as it is in JSON. */
const amount = (field: AmountField, description: string) =>
  shape[field].unwrap().in.optional().describe(description);

/** The limits of a key as they are in JSON; `agentLimitsSchema` decodes them. */
const limitsSchema = agentLimitsSchema
  .extend({
    currency: shape.currency.describe('ISO 4217. Refunds in another currency are refused.'),
    maxPerRefund: amount('maxPerRefund', 'The most of one refund.'),
    maxPerPayment: amount('maxPerPayment', 'The most of all refunds of one payment together.'),
    maxPerDay: amount('maxPerDay', 'The most that this key may request in 24 hours.'),
    reasons: shape.reasons.describe('The reasons that are allowed; any unless given.'),
    approvalAbove: amount(
      'approvalAbove',
      'A refund awaits approval if all refunds of its payment come to more than this.',
    ),
  })
  .meta({
    description:
      'What an agent may refund with a key, in the smallest unit of `currency`, inclusive. What is left out does not limit.',
    examples: [exampleAgentKey.limits],
  });

const agentKeySchema = z
  .object({
    id: z.string().describe('Opaque, prefixed with key_.'),
    name: z.string().describe('As it was given.'),
    environment: z.enum(environments).describe('That of the key which created it.'),
    lastFour: z.string().describe('The last four characters of the key.'),
    scopes: z.array(z.enum(agentScopes)).describe('What the key may do.'),
    limits: limitsSchema,
    status: z
      .enum(['active', 'stopped', 'expired'])
      .describe('A stopped key gets a 403 response, an expired one a 401.'),
    createdBy: z.string().describe('`key:<id>` for a key that was created through the API.'),
    createdAt: timeOutput(),
    lastUsedAt: nullableTimeOutput('To the minute.'),
    expiresAt: nullableTimeOutput('When the key stops working; null for never.'),
  })
  .meta({ id: 'AgentKey', description: 'An API key made for agents.', examples: [exampleAgentKey] });

/** An agent key as clients see it. */
function toPublicAgentKey(key: ApiKeySummary, now: Date): z.output<typeof agentKeySchema> {
  const { id, name, environment, lastFour, scopes, agentLimits, createdBy } = key;
  return {
    id,
    name,
    environment,
    lastFour,
    createdBy,
    scopes: agentScopes.filter((scope) => scopes.includes(scope)),
    limits: agentLimits as z.output<typeof limitsSchema>,
    // Revoked keys are not found.
    status: apiKeyStatus(key, now) as Exclude<ApiKeyStatus, 'revoked'>,
    createdAt: key.createdAt.toISOString(),
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
    expiresAt: key.expiresAt?.toISOString() ?? null,
  };
}

const agentKeyParamsSchema = idParams('key, key_...', exampleAgentKey.id);

const changeAgentKeySchema = jsonObject({
  name: keyNameSchema.optional(),
  limits: limitsSchema.optional(),
  status: oneOf(['active', 'stopped'])
    .optional()
    .describe('`stopped` refuses all requests with the key until it is `active` again.'),
}).meta({ examples: [{ status: 'stopped' }] });

const createAgentKeySchema = (clock: Clock) =>
  jsonObject({
    name: keyNameSchema,
    limits: limitsSchema,
    scopes: z
      .array(oneOf(agentScopes))
      .min(1, { error: 'must contain at least one scope' })
      .optional()
      .describe('What the key may do; all of these by default.'),
    expiresAt: expiresAtSchema(clock),
  }).meta({ examples: [{ name: exampleAgentKey.name, limits: exampleAgentKey.limits }] });

const createdSchema = agentKeySchema
  .extend({ key: z.string().describe('The API key itself. It is shown only here.') })
  .meta({
    id: 'CreatedAgentKey',
    examples: [{ ...exampleAgentKey, key: 'svc_test_Zk3vB8nQ1rT6yW0cE5gJ9mP2sX4ax7Qa' }],
  });

const revokedSchema = z
  .object({ id: z.string(), deleted: z.literal(true) })
  .meta({ examples: [{ id: exampleAgentKey.id, deleted: true }] });

const agentKeys = { tag: 'Agent keys', scope: 'keys:manage' } as const;

export const agentKeyOperations = [
  operation({
    ...agentKeys,
    id: 'createAgentKey',
    route: 'POST /v1/agent-keys',
    summary: 'Create an agent key',
    description:
      'Creates an API key for an agent, in the organization and environment of the calling key. The person behind the ' +
      'calling key cannot approve what the agent requests.',
    body: ({ clock }) => createAgentKeySchema(clock),
    answer: 'The key. Store `key` now: it is shown only here.',
    output: createdSchema,
    async run(deps, { apiKey, actor, body }) {
      const { organizationId, environment } = apiKey;
      const { name, limits, scopes = agentScopes, expiresAt } = body;
      const { key, plaintext } = await createApiKey(deps, {
        name,
        scopes,
        expiresAt: expiresAt == null ? null : new Date(expiresAt),
        agentLimits: agentLimitsSchema.decode(limits),
        organizationId,
        environment,
        actor,
      });
      return { ...toPublicAgentKey(key, deps.clock.now()), key: plaintext };
    },
  }),

  operation({
    ...agentKeys,
    id: 'listAgentKeys',
    route: 'GET /v1/agent-keys',
    summary: 'List agent keys',
    description:
      "The agent keys in the calling key's organization and environment that are not revoked, newest first.",
    answer: 'All agent keys.',
    output: listOutput(agentKeySchema, false),
    hasData: true,
    async run(deps, { apiKey }) {
      const keys = await listAgentKeys(deps.db, apiKey);
      const now = deps.clock.now();
      return wholeList(keys.map((key) => toPublicAgentKey(key, now)));
    },
  }),

  operation({
    ...agentKeys,
    id: 'changeAgentKey',
    route: 'PATCH /v1/agent-keys/:id',
    summary: 'Change an agent key',
    description:
      'Takes effect with the next request of the agent. What is left out stays as it is; `limits` replaces all limits.',
    params: agentKeyParamsSchema,
    body: changeAgentKeySchema,
    answer: 'The key as it is now.',
    output: agentKeySchema,
    async run(deps, { apiKey, actor, params, body: { name, status, limits } }) {
      const { id: keyId } = await findAgentKey(deps.db, apiKey, params.id);
      const change = {
        name,
        limits: limits && agentLimitsSchema.decode(limits),
        isStopped: status === undefined ? undefined : status === 'stopped',
      };
      const key = await changeApiKey(deps, { keyId, actor, change });
      return toPublicAgentKey(key, deps.clock.now());
    },
  }),

  operation({
    ...agentKeys,
    id: 'revokeAgentKey',
    route: 'DELETE /v1/agent-keys/:id',
    summary: 'Revoke an agent key',
    description: "Requests with the key fail from the next one on. This can't be undone.",
    params: agentKeyParamsSchema,
    answer: 'The key is revoked.',
    output: revokedSchema,
    async run(deps, { apiKey, actor, params }) {
      const { id: keyId } = await findAgentKey(deps.db, apiKey, params.id);
      await revokeApiKey(deps, { keyId, actor });
      return { id: keyId, deleted: true as const };
    },
  }),
];
