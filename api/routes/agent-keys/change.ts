import { z } from 'zod';
import { findAgentKey } from '../../../shared/organizations/agent-keys.ts';
import { agentLimitsSchema } from '../../../shared/organizations/agent-limits.ts';
import { changeApiKey } from '../../../shared/organizations/change-api-key.ts';
import { dataResponse, errorResponses, routePlugin } from '../../http/route.ts';
import { objectError } from '../refunds/refund-schema.ts';
import {
  agentKeyParamsSchema,
  agentKeySchema,
  keyNameSchema,
  limitsSchema,
  toPublicAgentKey,
} from './agent-key-schema.ts';

const changeAgentKeySchema = z
  .strictObject(
    {
      name: keyNameSchema.optional(),
      limits: limitsSchema.optional(),
      status: z
        .enum(['active', 'stopped'], { error: 'must be one of: active, stopped' })
        .optional()
        .meta({ description: '`stopped` refuses all requests with the key until it is `active` again.' }),
    },
    { error: objectError },
  )
  .meta({ examples: [{ status: 'stopped' }] });

/** `PATCH /v1/agent-keys/:id`: renames, limits, stops or resumes an agent key. */
export const changeAgentKeyRoute = routePlugin(
  { name: 'change-agent-key', dependencies: ['authenticate'] },
  async (app) => {
    const { deps } = app;
    app.patch(
      '/v1/agent-keys/:id',
      {
        schema: {
          operationId: 'changeAgentKey',
          summary: 'Change an agent key',
          description:
            'Takes effect with the next request of the agent. What is left out stays as it is; `limits` replaces all limits.',
          tags: ['Agent keys'],
          security: [{ apiKey: ['keys:manage'] }],
          params: agentKeyParamsSchema,
          body: changeAgentKeySchema,
          response: {
            200: dataResponse('The key as it is now.', agentKeySchema),
            ...errorResponses('not_found', 'payload_too_large', 'unsupported_media_type'),
          },
        },
      },
      async (request) => {
        const { name, status } = request.body;
        const limits = request.body.limits && agentLimitsSchema.decode(request.body.limits);
        const { id: keyId } = await findAgentKey(deps.db, request.apiKey, request.params.id);
        const isStopped = status === undefined ? undefined : status === 'stopped';
        const actor = `key:${request.apiKey.id}`;
        const key = await changeApiKey(deps, { keyId, actor, change: { name, limits, isStopped } });
        return { data: toPublicAgentKey(key, deps.clock.now()) };
      },
    );
  },
);
