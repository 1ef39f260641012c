import { randomUUID } from 'node:crypto';
import { pause } from './deadline.ts';
import { type ClientOptions, Transport } from './transport.ts';
import type * as api from './types.ts';

/** The methods of one kind of object. */
class Methods {
  protected readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }
}

const pageSize = 100;

class Refunds extends Methods {
  /** Creates a refund once, however often the request has to be repeated. */
  async create(body: api.CreateRefund, options: api.IdempotentOptions = {}): Promise<api.Refund> {
    // The other response is that of a dry run.
    return (await this.transport.data('POST /v1/refunds', { ...withKey(options), body })) as api.Refund;
  }

  /** What `create` would come to now. Nothing is reserved, sent or stored. */
  async dryRun(body: api.CreateRefund, options: api.RequestOptions = {}): Promise<api.RefundDryRun> {
    const request = { ...options, body: { ...body, dryRun: true }, isRead: true };
    return (await this.transport.data('POST /v1/refunds', request)) as api.RefundDryRun;
  }

  /** With `wait`, responds when the status changes, or at once if it is final. */
  async get(id: string, { include, ...options }: api.GetRefund = {}): Promise<api.DetailedRefund> {
    return await this.transport.data('GET /v1/refunds/{id}', {
      ...options,
      path: { id },
      query: { include },
    });
  }

  /** One page, newest first. */
  async list({ signal, ...query }: api.ListRefunds = {}): Promise<api.DetailedRefund[]> {
    return await this.transport.data('GET /v1/refunds', { query, signal });
  }

  /** All refunds that match, newest first; not those that are created meanwhile. */
  async *all(
    filters: api.RefundFilters & api.RequestOptions = {},
  ): AsyncGenerator<api.DetailedRefund, void, undefined> {
    let after: string | undefined;
    for (;;) {
      const page = await this.list({ ...filters, limit: pageSize, after });
      yield* page;
      if (page.length < pageSize) return;
      after = page.at(-1)?.id;
    }
  }

  /** Merges keys into the metadata; null removes a key. */
  async update(id: string, body: api.UpdateRefund, options: api.RequestOptions = {}): Promise<api.Refund> {
    return await this.transport.data('PATCH /v1/refunds/{id}', { ...options, path: { id }, body });
  }

  /** @throws RefundApiError refund_not_cancellable when it is too late. */
  async cancel(id: string, options: api.IdempotentOptions = {}): Promise<api.Refund> {
    return await this.transport.data('POST /v1/refunds/{id}/cancel', { ...withKey(options), path: { id } });
  }

  /**
   * Sends a refund that is awaiting approval. The key needs the scope `refunds:approve`, and the person behind it must not have
   * requested the refund.
   */
  async approve(id: string, options: api.RequestOptions = {}): Promise<api.Refund> {
    return await this.transport.data('POST /v1/refunds/{id}/approve', { ...options, path: { id } });
  }

  /** Cancels a refund that is awaiting approval. */
  async reject(
    id: string,
    body: api.RejectRefund = {},
    options: api.RequestOptions = {},
  ): Promise<api.Refund> {
    return await this.transport.data('POST /v1/refunds/{id}/reject', { ...options, path: { id }, body });
  }

  /** What happened to one refund, oldest first. */
  async events(id: string, options: api.RequestOptions = {}): Promise<api.RefundEvent[]> {
    return await this.transport.data('GET /v1/refunds/{id}/events', { ...options, path: { id } });
  }
}

/** Made once for each call, so that the call's own retries have the same key. */
function withKey({ idempotencyKey, ...options }: api.IdempotentOptions) {
  // Null, of programs in JavaScript, would be the one key of all their refunds.
  return { ...options, idempotencyKey: idempotencyKey ?? randomUUID() };
}

class RefundBatches extends Methods {
  /** Stores up to 10,000 requests for refunds, which are then worked off. `mode` says what invalid rows do. */
  async create(
    body: api.CreateRefundBatch,
    { mode, ...options }: api.IdempotentOptions & { mode?: 'strict' | 'partial' | undefined } = {},
  ): Promise<api.RefundBatch> {
    return await this.transport.data('POST /v1/refund-batches', {
      ...withKey(options),
      query: { mode },
      body,
    });
  }

  /** The batch with its progress. */
  async get(id: string, options: api.RequestOptions = {}): Promise<api.DetailedRefundBatch> {
    return await this.transport.data('GET /v1/refund-batches/{id}', { ...options, path: { id } });
  }

  /** One page, newest first. */
  async list({ signal, ...query }: api.ListRefundBatches = {}): Promise<api.RefundBatch[]> {
    return await this.transport.data('GET /v1/refund-batches', { query, signal });
  }

  /** One page of rows with what came of them; continue with `after` set to the last `row`. */
  async results(
    id: string,
    { signal, ...query }: api.ListRefundBatchResults = {},
  ): Promise<api.RefundBatchResult[]> {
    return await this.transport.data('GET /v1/refund-batches/{id}/results', { path: { id }, query, signal });
  }

  async pause(id: string, options: api.RequestOptions = {}): Promise<api.RefundBatch> {
    return await this.transport.data('POST /v1/refund-batches/{id}/pause', { ...options, path: { id } });
  }

  async resume(id: string, options: api.RequestOptions = {}): Promise<api.RefundBatch> {
    return await this.transport.data('POST /v1/refund-batches/{id}/resume', { ...options, path: { id } });
  }
}

class Payments extends Methods {
  /** A payment by any of its ids: its refunds, and what is left to refund. */
  async get(transactionId: string, { signal, ...query }: api.GetPayment = {}): Promise<api.Payment> {
    const route = 'GET /v1/payments/{transactionId}';
    return await this.transport.data(route, { path: { transactionId }, query, signal });
  }
}

class Accounts extends Methods {
  /** The accounts at processors that refunds can be requested of, without their credentials. */
  async list(options: api.RequestOptions = {}): Promise<api.Account[]> {
    return await this.transport.data('GET /v1/accounts', options);
  }
}

class Policies extends Methods {
  /** Whether a payment can be refunded, and up to how much. Nothing is changed. */
  async check(body: api.CheckPolicy, options: api.RequestOptions = {}): Promise<api.PolicyCheck> {
    return await this.transport.data('POST /v1/policies/check', { ...options, body, isRead: true });
  }

  /** What policies that are not saved would have decided about the refunds of the last 90 days. Nothing is changed. */
  async replay(body: api.ReplayPolicies, options: api.RequestOptions = {}): Promise<api.PolicyReplay> {
    return await this.transport.data('POST /v1/policies/replay', { ...options, body, isRead: true });
  }
}

/** The pause after an empty page. Without it, a service that does not wait would get requests in a tight loop. */
const idleMs = 200;

class Events extends Methods {
  /** One page, oldest first. Continue with `after` set to its `nextAfter`. */
  async list({ wait, signal, ...query }: api.ListEvents = {}): Promise<api.EventPage> {
    return await this.transport.send('GET /v1/events', { query, wait, signal });
  }

  /**
   * Every event from `after` on, or from the first, and new ones as they happen. It ends when `signal` is aborted.
   * To continue later, pass the id of the last event as `after`.
   * @param wait seconds to wait for an event per request.
   * @throws RefundApiError when the service is not available for longer than the retries of a request.
   */
  async *all(options: Omit<api.ListEvents, 'limit'> = {}): AsyncGenerator<api.RefundEvent, void, undefined> {
    const { after: start, wait = 25, type, signal } = options;
    let after = start;
    try {
      for (;;) {
        const page = await this.list({ after, type, limit: pageSize, wait, signal });
        for (const event of page.data) {
          if (signal?.aborted) return;
          yield event;
        }
        after = page.nextAfter ?? after;
        if (page.data.length === 0) await pause(idleMs, signal);
      }
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
  }
}

class WebhookEndpoints extends Methods {
  /** The result alone has the `secret` to verify webhooks with. */
  async create(
    body: api.CreateWebhookEndpoint,
    options: api.RequestOptions = {},
  ): Promise<api.WebhookEndpointWithSecret> {
    return await this.transport.data('POST /v1/webhook-endpoints', { ...options, body });
  }

  async get(id: string, options: api.RequestOptions = {}): Promise<api.WebhookEndpoint> {
    return await this.transport.data('GET /v1/webhook-endpoints/{id}', { ...options, path: { id } });
  }

  /** All of them, newest first. */
  async list(options: api.RequestOptions = {}): Promise<api.WebhookEndpoint[]> {
    return await this.transport.data('GET /v1/webhook-endpoints', options);
  }

  async update(
    id: string,
    body: api.ChangeWebhookEndpoint,
    options: api.RequestOptions = {},
  ): Promise<api.WebhookEndpoint> {
    return await this.transport.data('PATCH /v1/webhook-endpoints/{id}', { ...options, path: { id }, body });
  }

  async delete(id: string, options: api.RequestOptions = {}) {
    return await this.transport.data('DELETE /v1/webhook-endpoints/{id}', { ...options, path: { id } });
  }

  /** Until the overlap ends, all secrets that were valid before sign as well. The result alone has the new one. */
  async rotateSecret(
    id: string,
    body: api.RotateWebhookSecret = {},
    options: api.RequestOptions = {},
  ): Promise<api.WebhookEndpointWithSecret> {
    const route = 'POST /v1/webhook-endpoints/{id}/rotate-secret';
    return await this.transport.data(route, { ...options, path: { id }, body });
  }

  /** Sends an event of the type `webhook.test` now. */
  async test(id: string, options: api.RequestOptions = {}): Promise<api.WebhookDelivery> {
    return await this.transport.data('POST /v1/webhook-endpoints/{id}/test', { ...options, path: { id } });
  }

  /** One page of what was sent to the endpoint, newest first. */
  async deliveries(
    id: string,
    { signal, ...query }: api.ListDeliveries = {},
  ): Promise<api.WebhookDelivery[]> {
    const route = 'GET /v1/webhook-endpoints/{id}/deliveries';
    return await this.transport.data(route, { path: { id }, query, signal });
  }

  /** Attempts a delivery now. */
  async retry(
    id: string,
    deliveryId: string,
    options: api.RequestOptions = {},
  ): Promise<api.WebhookDelivery> {
    const route = 'POST /v1/webhook-endpoints/{id}/deliveries/{deliveryId}/retry';
    return await this.transport.data(route, { ...options, path: { id, deliveryId } });
  }

  /** Attempts the failed deliveries since a time again, or those with another status. @returns how many. */
  async replay(id: string, body: api.ReplayWebhooks, options: api.RequestOptions = {}) {
    const route = 'POST /v1/webhook-endpoints/{id}/replay';
    return await this.transport.data(route, { ...options, path: { id }, body });
  }

  /** Sends the events since a time that were never sent to the endpoint. @returns how many. */
  async replayMissing(id: string, body: api.ReplayMissingWebhooks, options: api.RequestOptions = {}) {
    const route = 'POST /v1/webhook-endpoints/{id}/replay-missing';
    return await this.transport.data(route, { ...options, path: { id }, body });
  }
}

/** API agent keys. */
class AgentKeys extends Methods {
  /** The result alone has the `key` itself. */
  async create(body: api.CreateAgentKey, options: api.RequestOptions = {}): Promise<api.CreatedAgentKey> {
    return await this.transport.data('POST /v1/agent-keys', { ...options, body });
  }

  async list(options: api.RequestOptions = {}): Promise<api.AgentKey[]> {
    return await this.transport.data('GET /v1/agent-keys', options);
  }

  /** Changes the name or the limits, or stops and resumes the key. */
  async update(
    id: string,
    body: api.ChangeAgentKey,
    options: api.RequestOptions = {},
  ): Promise<api.AgentKey> {
    return await this.transport.data('PATCH /v1/agent-keys/{id}', { ...options, path: { id }, body });
  }

  /** Revokes the key for good. */
  async revoke(id: string, options: api.RequestOptions = {}) {
    return await this.transport.data('DELETE /v1/agent-keys/{id}', { ...options, path: { id } });
  }
}

/**
 * A client of the refund service. Requests are repeated after connection errors, 429 and 5xx, unless that could carry
 * them out twice.
 */
export class RefundClient {
  readonly refunds: Refunds;
  readonly refundBatches: RefundBatches;
  readonly payments: Payments;
  readonly accounts: Accounts;
  readonly policies: Policies;
  readonly events: Events;
  readonly webhookEndpoints: WebhookEndpoints;
  readonly agentKeys: AgentKeys;

  /** @throws TypeError for a `baseUrl` or `apiKey` that cannot be right. */
  constructor(options: ClientOptions) {
    const transport = new Transport(options);
    this.refunds = new Refunds(transport);
    this.refundBatches = new RefundBatches(transport);
    this.payments = new Payments(transport);
    this.accounts = new Accounts(transport);
    this.policies = new Policies(transport);
    this.events = new Events(transport);
    this.webhookEndpoints = new WebhookEndpoints(transport);
    this.agentKeys = new AgentKeys(transport);
  }
}
