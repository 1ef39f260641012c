import { Events } from './events.ts';
import { Policies } from './policies.ts';
import { Refunds } from './refunds.ts';
import { type ClientOptions, Transport } from './transport.ts';

/**
 * A client of the refund service. Requests are repeated after connection errors, 429 and 5xx, unless that could carry
 * them out twice.
 */
export class RefundClient {
  readonly refunds: Refunds;
  readonly policies: Policies;
  readonly events: Events;

  /** @throws TypeError for a `baseUrl` or `apiKey` that cannot be right. */
  constructor(options: ClientOptions) {
    const transport = new Transport(options);
    this.refunds = new Refunds(transport);
    this.policies = new Policies(transport);
    this.events = new Events(transport);
  }
}
