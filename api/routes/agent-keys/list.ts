import { z } from 'zod';
import { listAgentKeys } from '../../../shared/organizations/agent-keys.ts';
import { dataResponse, errorResponses, routePlugin } from '../../http/route.ts';
import { agentKeySchema, toPublicAgentKey } from './agent-key-schema.ts';

/** `GET /v1/agent-keys`: the agent keys that are not revoked. */
export const listAgentKeysRoute = routePlugin(
  { name: 'list-agent-keys', dependencies: ['authenticate'] },
  async (app) => {
    const { deps } = app;
    app.get(
      '/v1/agent-keys',
      {
        schema: {
          operationId: 'listAgentKeys',
          summary: 'List agent keys',
          description:
            "The agent keys in the calling key's organization and environment that are not revoked, newest first.",
          tags: ['Agent keys'],
          security: [{ apiKey: ['keys:manage'] }],
          response: {
            200: dataResponse('All agent keys.', z.array(agentKeySchema)),
            ...errorResponses(),
          },
        },
      },
      async (request) => {
        const keys = await listAgentKeys(deps.db, request.apiKey);
        const now = deps.clock.now();
        return { data: keys.map((key) => toPublicAgentKey(key, now)) };
      },
    );
  },
);
