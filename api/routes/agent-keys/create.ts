import { z } from 'zod';
import { agentLimitsSchema } from '../../../shared/organizations/agent-limits.ts';
import { agentScopes, createApiKey } from '../../../shared/organizations/api-keys.ts';
import type { Clock } from '../../../shared/platform/clock.ts';
import { dataResponse, errorResponses, routePlugin } from '../../http/route.ts';
import { objectError } from '../refunds/refund-schema.ts';
import {
  agentKeySchema,
  exampleAgentKey,
  expiresAtSchema,
  keyNameSchema,
  limitsSchema,
  toPublicAgentKey,
} from './agent-key-schema.ts';

const createAgentKeySchema = (clock: Clock) =>
  z
    .strictObject(
      {
        name: keyNameSchema,
        limits: limitsSchema,
        scopes: z
          .array(z.enum(agentScopes, { error: `must be one of: ${agentScopes.join(', ')}` }))
          .min(1, { error: 'must contain at least one scope' })
          .optional()
          .meta({ description: 'What the key may do; all of these by default.' }),
        expiresAt: expiresAtSchema(clock),
      },
      { error: objectError },
    )
    .meta({ examples: [{ name: exampleAgentKey.name, limits: exampleAgentKey.limits }] });

const createdSchema = agentKeySchema
  .extend({ key: z.string().meta({ description: 'The API key itself. It is shown only here.' }) })
  .meta({
    id: 'CreatedAgentKey',
    examples: [{ ...exampleAgentKey, key: 'svc_test_Zk3vB8nQ1rT6yW0cE5gJ9mP2sX4ax7Qa' }],
  });

/** `POST /v1/agent-keys`: creates a key for an agent, with the limits of what it may refund. */
export const createAgentKeyRoute = routePlugin(
  { name: 'create-agent-key', dependencies: ['authenticate'] },
  async (app) => {
    const { deps } = app;
    app.post(
      '/v1/agent-keys',
      {
        schema: {
          operationId: 'createAgentKey',
          summary: 'Create an agent key',
          description:
            'Creates an API key for an agent, in the organization and environment of the calling key. The person behind the ' +
            'calling key cannot approve what the agent requests.',
          tags: ['Agent keys'],
          security: [{ apiKey: ['keys:manage'] }],
          body: createAgentKeySchema(deps.clock),
          response: {
            200: dataResponse('The key. Store `key` now: it is shown only here.', createdSchema),
            ...errorResponses('payload_too_large', 'unsupported_media_type'),
          },
        },
      },
      async (request) => {
        const { id, organizationId, environment } = request.apiKey;
        const { name, limits, scopes = agentScopes, expiresAt } = request.body;
        const asked = {
          name,
          scopes,
          expiresAt: expiresAt == null ? null : new Date(expiresAt),
          agentLimits: agentLimitsSchema.decode(limits),
        };
        const created = await createApiKey(deps, {
          ...asked,
          organizationId,
          environment,
          actor: `key:${id}`,
        });
        return { data: { ...toPublicAgentKey(created.key, deps.clock.now()), key: created.plaintext } };
      },
    );
  },
);
