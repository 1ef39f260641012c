import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ServiceError } from '../../../shared/platform/errors.ts';
import { findAccount } from '../../../shared/processors/accounts/connections.ts';
import { processorKind, processorNames } from '../../../shared/processors/registry.ts';
import { recordEvent } from '../../../shared/refunds/lifecycle/resync.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import { acceptRawBody } from '../../http/raw-body.ts';
import type { Api } from '../../http/route.ts';

/** Many times what processors send; theirs are a few KiB. */
const limitKiB = 256;

export const accountParamsSchema = z.object({ accountId: z.string() });

/** `POST /webhooks/<processor>/:accountId`, for each processor in the form in which it sends. */
export async function receiveWebhookRoutes(app: Api, deps: ApiDependencies): Promise<void> {
  for (const processor of processorNames) {
    await app.register(async (scope: Api) => {
      acceptRawBody(scope, processorKind(processor).webhooks.mediaType, limitKiB);
      receiveWebhookRoute(scope, deps, processor);
    });
  }
}

/**
 * The processor itself calls it, so its signature stands in for an API key. The answer says that the event is on
 * record; a worker does what follows from it.
 */
function receiveWebhookRoute(scope: Api, deps: ApiDependencies, processor: string): void {
  scope.post(
    `/webhooks/${processor}/:accountId`,
    { schema: { hide: true, params: accountParamsSchema } },
    async (request) => {
      const account = await findAccount(deps.db, processor, request.params.accountId);
      const connection = await deps.connections.connect(account);
      const verdict = await connection.verifyWebhook({ body: bodyOf(request), headers: request.headers });
      const { id: accountId } = account;
      if (verdict.kind === 'not-verified') {
        request.log.warn({ accountId, reason: verdict.reason }, 'a webhook was not verified');
        throw new ServiceError(
          'invalid_signature',
          "The webhook is not signed for this account, or too old; check the account's signing secret or keys.",
        );
      }
      const { externalEventId, type, occurredAt } = verdict.event;
      const outcome = await recordEvent(deps, account, verdict.event);
      request.log.info({ accountId, externalEventId, type, occurredAt, outcome }, 'webhook');
      return { data: { received: true } };
    },
  );
}

/** A request without a body comes past the parser. */
function bodyOf({ body }: FastifyRequest): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}
