import type { ApiKey } from '../../../shared/platform/database.ts';
import type { EndpointRequest } from '../../../shared/webhooks/endpoint.ts';

/** The endpoint that a request names, with the owner and the actor of its key. */
export function endpointRequest({
  apiKey,
  params,
}: {
  apiKey: Pick<ApiKey, 'id' | 'organizationId' | 'environment'>;
  params: { id: string };
}): EndpointRequest {
  const { organizationId, environment } = apiKey;
  return { organizationId, environment, endpointId: params.id, actor: `key:${apiKey.id}` };
}
