import type { Transport } from './transport.ts';
import type { CheckPolicy, PolicyCheck, RequestOptions } from './types.ts';

export class Policies {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Whether a payment can be refunded, and up to how much. Nothing is changed. */
  async check(body: CheckPolicy, options: RequestOptions = {}): Promise<PolicyCheck> {
    const request = { method: 'POST', path: '/v1/policies/check', isRead: true } as const;
    return await this.#transport.data<'checkPolicy'>({ ...request, body, ...options });
  }
}
