import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ServiceError } from '#shared/platform/errors.ts';
import { networkOf } from '#shared/platform/network.ts';
import { processorKind, processorNames } from '#shared/processors/registry.ts';
import { answerChallenge, receiveWebhook } from '#shared/refunds/lifecycle/processor-events.ts';
import { rawBody } from '../http/body.ts';
import type { Api } from '../http/route.ts';

/** Processors send a few KiB. */
const bodyLimit = 256 * 1024;

const schema = { hide: true, params: z.object({ accountId: z.string() }) };

/** `/webhooks/<processor>/:accountId`, for each processor. */
export async function processorWebhookRoutes(app: Api, senders: VerifiedSenders): Promise<void> {
  for (const processor of processorNames) {
    const { challengeParameter } = processorKind(processor).webhooks;
    await app.register(async (scope: Api) => receiveRoute(scope, processor, senders));
    if (challengeParameter !== null) challengeRoute(app, processor, challengeParameter);
  }
}

/** `POST`: takes an event. The signature takes the place of an API key. */
function receiveRoute(app: Api, processor: string, senders: VerifiedSenders): void {
  rawBody(app, processorKind(processor).webhooks.mediaType);
  app.post(`/webhooks/${processor}/:accountId`, { schema, bodyLimit }, async (request) => {
    const { deps, params, headers, log } = request;
    const receipt = await receiveWebhook(deps, { processor, ...params }, { body: bodyOf(request), headers });
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

const mostSenders = 10_000;

/**
 * The networks from which verified webhooks of an account have come. What else they send to the account counts as verified, unlike
 * their requests about other accounts.
 */
export class VerifiedSenders {
  /** Those verified longest ago come first. */
  readonly #senders = new Set<string>();

  has(request: FastifyRequest): boolean {
    return this.#senders.has(senderOf(request));
  }

  add(request: FastifyRequest): void {
    const sender = senderOf(request);
    this.#senders.delete(sender);
    this.#senders.add(sender);
    const [oldest] = this.#senders;
    if (this.#senders.size > mostSenders && oldest !== undefined) this.#senders.delete(oldest);
  }

  /** Whose share of the places a request takes: its account's, or its network's before a verified webhook. */
  ownerOf(request: FastifyRequest): string {
    return this.has(request) ? accountOf(request) : networkOf(request.ip);
  }
}

function senderOf(request: FastifyRequest): string {
  return `${networkOf(request.ip)} ${accountOf(request)}`;
}

function accountOf({ params }: FastifyRequest): string {
  return (params as { accountId: string }).accountId;
}
