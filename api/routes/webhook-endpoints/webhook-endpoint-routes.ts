import type { Api } from '../../http/route.ts';
import { changeEndpointRoute } from './change.ts';
import { createEndpointRoute } from './create.ts';
import { deleteEndpointRoute } from './delete.ts';
import { listDeliveriesRoute } from './deliveries.ts';
import { getEndpointRoute } from './get.ts';
import { listEndpointsRoute } from './list.ts';
import { replayDeliveriesRoute } from './replay.ts';
import { retryDeliveryRoute } from './retry.ts';
import { rotateSecretRoute } from './rotate-secret.ts';
import { testEndpointRoute } from './send-test.ts';

/** Everything under `/v1/webhook-endpoints`. */
export async function webhookEndpointRoutes(app: Api): Promise<void> {
  await app.register(createEndpointRoute);
  await app.register(listEndpointsRoute);
  await app.register(getEndpointRoute);
  await app.register(changeEndpointRoute);
  await app.register(deleteEndpointRoute);
  await app.register(rotateSecretRoute);
  await app.register(testEndpointRoute);
  await app.register(listDeliveriesRoute);
  await app.register(retryDeliveryRoute);
  await app.register(replayDeliveriesRoute);
}
