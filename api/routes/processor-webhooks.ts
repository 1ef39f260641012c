import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ServiceError } from '../../shared/platform/errors.ts';
import { findAccount } from '../../shared/processors/accounts/connections.ts';
import { processorKind, processorNames } from '../../shared/processors/registry.ts';
import { recordEvent } from '../../shared/refunds/lifecycle/resync.ts';
import { rawBody } from '../http/body.ts';
import { routePlugin } from '../http/route.ts';

/** Processors send a few KiB. */
const limitKiB = 256;

const schema = { hide: true, params: z.object({ accountId: z.string() }) };

interface ProcessorOption {
  processor: string;
}

/** `/webhooks/<processor>/:accountId`, for each processor. */
export const processorWebhookRoutes = routePlugin({ name: 'processor-webhooks' }, async (app) => {
  for (const processor of processorNames) {
    const { challengeParameter, mediaType } = processorKind(processor).webhooks;
    await app.register(receiveRoute, { processor, mediaType });
    if (challengeParameter !== null) {
      await app.register(challengeRoute, { processor, parameter: challengeParameter });
    }
  }
});

/** `POST`: records an event for a worker to process. The signature takes the place of an API key. */
const receiveRoute = routePlugin<ProcessorOption & { mediaType: string }>(
  { name: 'receive-webhook' },
  async (app, { processor, mediaType }) => {
    const { deps } = app;
    await app.register(rawBody, { mediaType, limitKiB });
    app.post(`/webhooks/${processor}/:accountId`, { schema }, async (request) => {
      const account = await findAccount(deps.db, processor, request.params.accountId);
      const connection = await deps.connections.connect(account);
      const verdict = await connection.verifyWebhook({ body: bodyOf(request), headers: request.headers });
      const { id: accountId } = account;
      if (verdict.kind === 'not-verified') {
        request.log.warn({ accountId, reason: verdict.reason }, 'a webhook was not verified');
        throw new ServiceError(
          'invalid_signature',
          "The webhook signature does not match this account or is too old. Check the account's signing secret or keys.",
        );
      }
      const { externalEventId, type, occurredAt } = verdict.event;
      const outcome = await recordEvent(deps, account, verdict.event);
      request.log.info({ accountId, externalEventId, type, occurredAt, outcome }, 'webhook');
      return { data: { received: true } };
    });
  },
);

/** Without a body no parser runs. */
function bodyOf({ body }: Pick<FastifyRequest, 'body'>): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}

/** `GET`: answers the challenge of a processor that verifies the address first. */
const challengeRoute = routePlugin<ProcessorOption & { parameter: string }>(
  { name: 'webhook-challenge' },
  async (app, { processor, parameter }) => {
    const { deps } = app;
    app.get(`/webhooks/${processor}/:accountId`, { schema }, async (request, reply) => {
      const account = await findAccount(deps.db, processor, request.params.accountId);
      const challenge = (request.query as Record<string, unknown>)[parameter];
      const answer =
        typeof challenge === 'string'
          ? (await deps.connections.connect(account)).answerChallenge(challenge)
          : null;
      if (answer === null) {
        throw new ServiceError(
          'validation_error',
          `${parameter}: send the ${processor} challenge exactly once.`,
        );
      }
      return reply.type('text/plain').send(answer);
    });
  },
);
