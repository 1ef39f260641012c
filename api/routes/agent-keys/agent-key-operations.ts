import { z } from 'zod';
import { findAgentKey, listAgentKeys } from '../../../shared/organizations/agent-keys.ts';
import { agentScopes, createApiKey, revokeApiKey } from '../../../shared/organizations/api-keys.ts';
import { changeApiKey } from '../../../shared/organizations/change-api-key.ts';
import type { Clock } from '../../../shared/platform/clock.ts';
import { agentLimitsSchema } from '../../../shared/policies/agent-limits.ts';
import { operation } from '../../http/operation.ts';
import { dataResponse } from '../../http/route.ts';
import { jsonObject } from '../refunds/refund-schema.ts';
import {
  agentKeyParamsSchema,
  agentKeySchema,
  exampleAgentKey,
  expiresAtSchema,
  keyNameSchema,
  limitsSchema,
  toPublicAgentKey,
} from './agent-key-schema.ts';

const changeAgentKeySchema = jsonObject({
  name: keyNameSchema.optional(),
  limits: limitsSchema.optional(),
  status: z
    .enum(['active', 'stopped'], { error: 'must be one of: active, stopped' })
    .optional()
    .meta({ description: '`stopped` refuses all requests with the key until it is `active` again.' }),
}).meta({ examples: [{ status: 'stopped' }] });

const createAgentKeySchema = (clock: Clock) =>
  jsonObject({
    name: keyNameSchema,
    limits: limitsSchema,
    scopes: z
      .array(z.enum(agentScopes, { error: `must be one of: ${agentScopes.join(', ')}` }))
      .min(1, { error: 'must contain at least one scope' })
      .optional()
      .meta({ description: 'What the key may do; all of these by default.' }),
    expiresAt: expiresAtSchema(clock),
  }).meta({ examples: [{ name: exampleAgentKey.name, limits: exampleAgentKey.limits }] });

const createdSchema = agentKeySchema
  .extend({ key: z.string().meta({ description: 'The API key itself. It is shown only here.' }) })
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
    method: 'POST',
    path: '/v1/agent-keys',
    summary: 'Create an agent key',
    description:
      'Creates an API key for an agent, in the organization and environment of the calling key. The person behind the ' +
      'calling key cannot approve what the agent requests.',
    body: ({ clock }) => createAgentKeySchema(clock),
    response: dataResponse('The key. Store `key` now: it is shown only here.', createdSchema),
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
      return { data: { ...toPublicAgentKey(key, deps.clock.now()), key: plaintext } };
    },
  }),

  operation({
    ...agentKeys,
    id: 'listAgentKeys',
    method: 'GET',
    path: '/v1/agent-keys',
    summary: 'List agent keys',
    description:
      "The agent keys in the calling key's organization and environment that are not revoked, newest first.",
    response: dataResponse('All agent keys.', z.array(agentKeySchema)),
    async run(deps, { apiKey }) {
      const keys = await listAgentKeys(deps.db, apiKey);
      const now = deps.clock.now();
      return { data: keys.map((key) => toPublicAgentKey(key, now)) };
    },
  }),

  operation({
    ...agentKeys,
    id: 'changeAgentKey',
    method: 'PATCH',
    path: '/v1/agent-keys/:id',
    summary: 'Change an agent key',
    description:
      'Takes effect with the next request of the agent. What is left out stays as it is; `limits` replaces all limits.',
    params: agentKeyParamsSchema,
    body: changeAgentKeySchema,
    response: dataResponse('The key as it is now.', agentKeySchema),
    async run(deps, { apiKey, actor, params, body: { name, status, limits } }) {
      const { id: keyId } = await findAgentKey(deps.db, apiKey, params.id);
      const change = {
        name,
        limits: limits && agentLimitsSchema.decode(limits),
        isStopped: status === undefined ? undefined : status === 'stopped',
      };
      const key = await changeApiKey(deps, { keyId, actor, change });
      return { data: toPublicAgentKey(key, deps.clock.now()) };
    },
  }),

  operation({
    ...agentKeys,
    id: 'revokeAgentKey',
    method: 'DELETE',
    path: '/v1/agent-keys/:id',
    summary: 'Revoke an agent key',
    description: "Requests with the key fail from the next one on. This can't be undone.",
    params: agentKeyParamsSchema,
    response: dataResponse('The key is revoked.', revokedSchema),
    async run(deps, { apiKey, actor, params }) {
      const { id: keyId } = await findAgentKey(deps.db, apiKey, params.id);
      await revokeApiKey(deps, { keyId, actor });
      return { data: { id: keyId, deleted: true as const } };
    },
  }),
];
