import { z } from 'zod';
import { findAgentKey } from '../../../shared/organizations/agent-keys.ts';
import { revokeApiKey } from '../../../shared/organizations/api-keys.ts';
import { ignoredBody } from '../../http/body.ts';
import { dataResponse, errorResponses, routePlugin } from '../../http/route.ts';
import { agentKeyParamsSchema, exampleAgentKey } from './agent-key-schema.ts';

const revokedSchema = z
  .object({ id: z.string(), deleted: z.literal(true) })
  .meta({ examples: [{ id: exampleAgentKey.id, deleted: true }] });

/** `DELETE /v1/agent-keys/:id`: revokes an agent key. A body is ignored. */
export const revokeAgentKeyRoute = routePlugin(
  { name: 'revoke-agent-key', dependencies: ['authenticate'] },
  async (app) => {
    const { deps } = app;
    await app.register(ignoredBody);
    app.delete(
      '/v1/agent-keys/:id',
      {
        schema: {
          operationId: 'revokeAgentKey',
          summary: 'Revoke an agent key',
          description: "Requests with the key fail from the next one on. This can't be undone.",
          tags: ['Agent keys'],
          security: [{ apiKey: ['keys:manage'] }],
          params: agentKeyParamsSchema,
          response: {
            200: dataResponse('The key is revoked.', revokedSchema),
            ...errorResponses('not_found', 'payload_too_large'),
          },
        },
      },
      async (request) => {
        const { id: keyId } = await findAgentKey(deps.db, request.apiKey, request.params.id);
        await revokeApiKey(deps, { keyId, actor: `key:${request.apiKey.id}` });
        return { data: { id: keyId, deleted: true as const } };
      },
    );
  },
);
