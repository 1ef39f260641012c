import { z } from 'zod';
import { toPublicEndpoint } from '../../../shared/webhooks/endpoint.ts';
import { rotateSecret } from '../../../shared/webhooks/manage-endpoints.ts';
import { optionalJsonBody } from '../../http/body.ts';
import { dataResponse, errorResponses, routePlugin } from '../../http/route.ts';
import { objectError } from '../refunds/refund-schema.ts';
import { endpointRequest } from './endpoint-request.ts';
import { endpointParamsSchema, endpointWithSecretSchema } from './endpoint-schema.ts';

const daySeconds = 86_400;
const weekSeconds = 7 * daySeconds;

const overlapMessage = `must be a whole number of seconds from 0 to ${weekSeconds} (seven days)`;

const rotateSecretSchema = z
  .strictObject(
    {
      overlapSeconds: z
        .int({ error: overlapMessage })
        .min(0, { error: overlapMessage })
        .max(weekSeconds, { error: overlapMessage })
        .default(daySeconds)
        .meta({ description: 'How long the earlier secrets sign as well; 0 ends them at once.' }),
    },
    { error: objectError },
  )
  .meta({ examples: [{ overlapSeconds: 3600 }] });

/** `POST /v1/webhook-endpoints/:id/rotate-secret`: replaces the secret that signs. */
export const rotateSecretRoute = routePlugin(
  { name: 'rotate-webhook-secret', dependencies: ['authenticate'] },
  async (app) => {
    const { deps } = app;
    await app.register(optionalJsonBody);
    app.post(
      '/v1/webhook-endpoints/:id/rotate-secret',
      {
        schema: {
          operationId: 'rotateWebhookSecret',
          summary: 'Rotate the secret of a webhook endpoint',
          description:
            'Until the overlap ends, each request carries a signature by the new secret and by every secret that was valid before, ' +
            'so a receiver works with any of them. A second rotation keeps those of the first; the newest five sign.',
          tags: ['Webhooks'],
          security: [{ apiKey: ['webhooks:manage'] }],
          params: endpointParamsSchema,
          body: rotateSecretSchema.nullish(),
          response: {
            200: dataResponse('The endpoint with its new secret.', endpointWithSecretSchema),
            ...errorResponses('not_found', 'payload_too_large', 'unsupported_media_type'),
          },
        },
      },
      async (request) => {
        const { overlapSeconds = daySeconds } = request.body ?? {};
        const { endpoint, secret } = await rotateSecret(deps, endpointRequest(request), overlapSeconds);
        return { data: { ...toPublicEndpoint(endpoint), secret } };
      },
    );
  },
);
