import { segment, type Transport } from './transport.ts';
import type {
  ChangeWebhookEndpoint,
  CreateWebhookEndpoint,
  DataOf,
  ListDeliveries,
  ReplayWebhooks,
  RequestOptions,
  RotateWebhookSecret,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookEndpointWithSecret,
} from './types.ts';

const collection = '/v1/webhook-endpoints';

export class WebhookEndpoints {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The result alone has the `secret` to verify webhooks with. */
  async create(
    body: CreateWebhookEndpoint,
    options: RequestOptions = {},
  ): Promise<WebhookEndpointWithSecret> {
    const request = { method: 'POST', path: collection, body, ...options } as const;
    return await this.#transport.data<'createWebhookEndpoint'>(request);
  }

  async get(id: string, options: RequestOptions = {}): Promise<WebhookEndpoint> {
    const request = { method: 'GET', path: pathOf(id), ...options } as const;
    return await this.#transport.data<'getWebhookEndpoint'>(request);
  }

  /** All of them, newest first. */
  async list(options: RequestOptions = {}): Promise<WebhookEndpoint[]> {
    const request = { method: 'GET', path: collection, ...options } as const;
    return await this.#transport.data<'listWebhookEndpoints'>(request);
  }

  async update(
    id: string,
    body: ChangeWebhookEndpoint,
    options: RequestOptions = {},
  ): Promise<WebhookEndpoint> {
    const request = { method: 'PATCH', path: pathOf(id), body, ...options } as const;
    return await this.#transport.data<'changeWebhookEndpoint'>(request);
  }

  async delete(id: string, options: RequestOptions = {}): Promise<DataOf<'deleteWebhookEndpoint'>> {
    const request = { method: 'DELETE', path: pathOf(id), ...options } as const;
    return await this.#transport.data<'deleteWebhookEndpoint'>(request);
  }

  /** Until the overlap ends, all secrets that were valid before sign as well. The result alone has the new one. */
  async rotateSecret(
    id: string,
    body: RotateWebhookSecret = {},
    options: RequestOptions = {},
  ): Promise<WebhookEndpointWithSecret> {
    const request = { method: 'POST', path: `${pathOf(id)}/rotate-secret`, body, ...options } as const;
    return await this.#transport.data<'rotateWebhookSecret'>(request);
  }

  /** Sends an event of the type `webhook.test` now. */
  async test(id: string, options: RequestOptions = {}): Promise<WebhookDelivery> {
    const request = { method: 'POST', path: `${pathOf(id)}/test`, ...options } as const;
    return await this.#transport.data<'testWebhookEndpoint'>(request);
  }

  /** One page of what was sent to the endpoint, newest first. */
  async deliveries(id: string, { signal, ...query }: ListDeliveries = {}): Promise<WebhookDelivery[]> {
    const request = { method: 'GET', path: `${pathOf(id)}/deliveries`, query, signal } as const;
    return await this.#transport.data<'listWebhookDeliveries'>(request);
  }

  /** Attempts a delivery now. */
  async retry(id: string, deliveryId: string, options: RequestOptions = {}): Promise<WebhookDelivery> {
    const path = `${pathOf(id)}/deliveries/${segment(deliveryId)}/retry`;
    return await this.#transport.data<'retryWebhookDelivery'>({ method: 'POST', path, ...options });
  }

  /** Attempts the failed deliveries since a time again, or those with another status. @returns how many. */
  async replay(
    id: string,
    body: ReplayWebhooks,
    options: RequestOptions = {},
  ): Promise<DataOf<'replayWebhookDeliveries'>> {
    const request = { method: 'POST', path: `${pathOf(id)}/replay`, body, ...options } as const;
    return await this.#transport.data<'replayWebhookDeliveries'>(request);
  }
}

const pathOf = (id: string) => `${collection}/${segment(id)}`;
