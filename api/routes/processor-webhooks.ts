import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ServiceError } from '#shared/platform/errors.ts';
import { networkOf } from '#shared/platform/network.ts';
import { processorKind, processorNames } from '#shared/processors/registry.ts';
import { answerChallenge, receiveWebhook } from '#shared/refunds/lifecycle/processor-events.ts';
import { type AllPlaces, admit, startWaiting } from '../http/admission.ts';
import { rawBody } from '../http/body.ts';
import type { Api } from '../http/route.ts';

/** Processors send a few KiB. */
const bodyLimit = 256 * 1024;

const schema = { hide: true, params: z.object({ accountId: z.string() }) };

/** How long an event waits for the worker that has its refund under lease; most workers are about to record what it says. */
const leaseWaitMs = 2_000;

/**
 * `/webhooks/<processor>/:accountId`, for each processor. The id of an account cannot be guessed: who names a connected one gets a place
 * of that account, and any other sender one of its network.
 */
export async function processorWebhookRoutes(
  app: Api,
  { processors, unknownSenders }: Pick<AllPlaces, 'processors' | 'unknownSenders'>,
): Promise<void> {
  const { connections } = app.deps;
  admit(app, ({ params, ip }) => {
    const { accountId } = params as { accountId: string };
    const isKnown = connections.last(accountId) !== undefined;
    return isKnown
      ? { places: processors, owner: accountId }
      : { places: unknownSenders, owner: networkOf(ip) };
  });
  for (const processor of processorNames) {
    const { challengeParameter } = processorKind(processor).webhooks;
    await app.register(async (scope: Api) => receiveRoute(scope, processor));
    if (challengeParameter !== null) challengeRoute(app, processor, challengeParameter);
  }
}

/** `POST`: takes an event. The signature takes the place of an API key. */
function receiveRoute(app: Api, processor: string): void {
  const { deps } = app;
  rawBody(app, processorKind(processor).webhooks.mediaType);
  app.post(`/webhooks/${processor}/:accountId`, { schema, bodyLimit }, async (request) => {
    const { params, headers, log } = request;
    const webhook = { body: bodyOf(request), headers };
    const waitMs = startWaiting(request) ? leaseWaitMs : 0;
    const receipt = await receiveWebhook(deps, { processor, ...params }, webhook, waitMs);
    if (receipt.outcome === 'not-verified') {
      log.warn({ ...params, reason: receipt.reason }, 'a webhook was not verified');
      throw new ServiceError(
        'invalid_signature',
        "The webhook signature does not match this account or is too old. Check the account's signing secret or keys.",
      );
    }
    const { outcome, event } = receipt;
    const { externalEventId, type, occurredAt } = event;
    const line = { ...params, externalEventId, type, occurredAt, outcome };
    if (outcome === 'recorded') log.info(line, 'webhook');
    else log.debug(line, 'webhook');
    return { data: { received: true } };
  });
}

/** Without a body no parser runs. */
function bodyOf({ body }: Pick<FastifyRequest, 'body'>): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}

/** `GET`: answers the challenge of a processor that verifies the address first. */
function challengeRoute(app: Api, processor: string, parameter: string): void {
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
}
