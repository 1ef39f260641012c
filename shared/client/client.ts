import { AgentKeys } from './agent-keys.ts';
import { Events } from './events.ts';
import { Policies } from './policies.ts';
import { Refunds } from './refunds.ts';
import { type ClientOptions, Transport } from './transport.ts';
import { WebhookEndpoints } from './webhook-endpoints.ts';

/**
 * A client of the refund service. Requests are repeated after connection errors, 429 and 5xx, unless that could carry
 * them out twice.
 */
export class RefundClient {
  readonly refunds: Refunds;
  readonly policies: Policies;
  readonly events: Events;
  readonly webhookEndpoints: WebhookEndpoints;
  readonly agentKeys: AgentKeys;

  /** @throws TypeError for a `baseUrl` or `apiKey` that cannot be right. */
  constructor(options: ClientOptions) {
    const transport = new Transport(options);
    this.refunds = new Refunds(transport);
    this.policies = new Policies(transport);
    this.events = new Events(transport);
    this.webhookEndpoints = new WebhookEndpoints(transport);
    this.agentKeys = new AgentKeys(transport);
  }
}
