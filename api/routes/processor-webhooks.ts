import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ServiceError } from '../../shared/platform/errors.ts';
import { processorKind, processorNames } from '../../shared/processors/registry.ts';
import { answerChallenge, receiveWebhook } from '../../shared/refunds/lifecycle/processor-events.ts';
import { rawBody } from '../http/body.ts';
import { routePlugin } from '../http/route.ts';
import type { VerifiedSenders } from '../http/verified-senders.ts';

/** Processors send a few KiB. */
const bodyLimit = 256 * 1024;

const schema = { hide: true, params: z.object({ accountId: z.string() }) };

interface ProcessorOption {
  processor: string;
}

interface SendersOption {
  senders: VerifiedSenders;
}

/** `/webhooks/<processor>/:accountId`, for each processor. */
export const processorWebhookRoutes = routePlugin<SendersOption>(
  { name: 'processor-webhooks' },
  async (app, { senders }) => {
    for (const processor of processorNames) {
      const { challengeParameter, mediaType } = processorKind(processor).webhooks;
      await app.register(receiveRoute, { processor, mediaType, senders });
      if (challengeParameter !== null) {
        await app.register(challengeRoute, { processor, parameter: challengeParameter });
      }
    }
  },
);

/** `POST`: takes an event. The signature takes the place of an API key. */
const receiveRoute = routePlugin<ProcessorOption & SendersOption & { mediaType: string }>(
  { name: 'receive-webhook' },
  async (app, { processor, mediaType, senders }) => {
    await app.register(rawBody, { mediaType });
    app.post(`/webhooks/${processor}/:accountId`, { schema, bodyLimit }, async (request) => {
      const { deps, params, headers, log } = request;
      const receipt = await receiveWebhook(
        deps,
        { processor, ...params },
        { body: bodyOf(request), headers },
      );
      if (receipt.outcome === 'not-verified') {
        log.warn({ ...params, reason: receipt.reason }, 'a webhook was not verified');
        throw new ServiceError(
          'invalid_signature',
          "The webhook signature does not match this account or is too old. Check the account's signing secret or keys.",
        );
      }
      senders.add(request);
      const { outcome, event } = receipt;
      const { externalEventId, type, occurredAt } = event;
      const line = { ...params, externalEventId, type, occurredAt, outcome };
      if (outcome === 'recorded') log.info(line, 'webhook');
      else log.debug(line, 'webhook');
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
      const challenge = (request.query as Record<string, unknown>)[parameter];
      const answer =
        typeof challenge === 'string'
          ? await answerChallenge(deps, { processor, ...request.params }, challenge)
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
