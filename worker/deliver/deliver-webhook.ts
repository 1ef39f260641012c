import type { PlatformDependencies } from '../../shared/platform/dependencies.ts';
import { openEndpointSecrets } from '../../shared/webhooks/endpoint-secrets.ts';
import { resultOf } from './attempt-result.ts';
import { signedRequest } from './signed-request.ts';
import { type DeliveryClaim, openDeliveryStatements } from './statements.ts';
import { openTransport, type Reply, type Transport } from './transport.ts';

/** Delivers webhooks. */
export interface WebhookSender {
  /**
   * Makes the attempt of a delivery that is due: claim, send, record. The job knows only the id and everything is decided from
   * the database, so a duplicate, late or concurrent job is harmless.
   * @throws when the database is unavailable; the delivery is due again after its lease.
   */
  deliver(deliveryId: string): Promise<void>;
  close(): Promise<void>;
}

/** @param transport of the settings' environment by default. */
export function openWebhookSender(
  deps: PlatformDependencies,
  transport: Transport = openTransport({ isPublicOnly: deps.settings.NODE_ENV === 'production' }),
): WebhookSender {
  const statements = openDeliveryStatements(deps);
  return {
    async deliver(deliveryId) {
      const claim = await statements.claim(deliveryId);
      if (claim === null) return;
      const { attemptNumber, endpoint } = claim;
      const since = performance.now();
      const reply = await send(deps, transport, claim);
      const durationMs = Math.round(performance.now() - since);
      const result = resultOf(reply, attemptNumber, deps.random);
      await statements.record({ deliveryId, attemptNumber, durationMs, ...result });
      const { error, responseStatus: status } = result;
      deps.log.debug(
        { deliveryId, endpointId: endpoint.id, attemptNumber, status, error },
        'webhook attempt',
      );
    },
    close: () => transport.close(),
  };
}

/** An endpoint whose secrets cannot be read gets no request; the delivery is retried like any other. */
async function send(
  deps: Pick<PlatformDependencies, 'secrets' | 'clock' | 'log'>,
  transport: Transport,
  claim: DeliveryClaim,
): Promise<Reply> {
  try {
    const now = deps.clock.now();
    const secrets = openEndpointSecrets(deps.secrets, claim.endpoint, now);
    const { headers, body } = signedRequest(claim, secrets, now);
    return await transport.post(claim.url, headers, body);
  } catch (error) {
    deps.log.error({ err: error, deliveryId: claim.deliveryId }, 'a webhook could not be sent');
    return { status: null, body: Buffer.alloc(0), error: 'not_sent' };
  }
}
