import { randomUUID } from 'node:crypto';
import { segment, type Transport } from './transport.ts';
import type {
  CreateRefund,
  IdempotentOptions,
  ListRefunds,
  Refund,
  RefundEvent,
  RefundFilters,
  RequestOptions,
  WaitOptions,
} from './types.ts';

const pageSize = 100;

export class Refunds {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates a refund once, however often the request has to be repeated. */
  async create(body: CreateRefund, options: IdempotentOptions = {}): Promise<Refund> {
    const path = '/v1/refunds';
    const sent = { method: 'POST', path, body, ...withKey(options) } as const;
    // The other response is that of a dry run, which `body` cannot ask for.
    return (await this.#transport.data<'createRefund'>(sent)) as Refund;
  }

  /** With `wait`, responds when the status changes, or at once if it is final. */
  async get(id: string, options: WaitOptions = {}): Promise<Refund> {
    return await this.#transport.data<'getRefund'>({ method: 'GET', path: pathOf(id), ...options });
  }

  /** One page, newest first. */
  async list({ signal, ...query }: ListRefunds = {}): Promise<Refund[]> {
    const path = '/v1/refunds';
    return await this.#transport.data<'listRefunds'>({ method: 'GET', path, query, signal });
  }

  /** All refunds that match, newest first. */
  async *all(filters: RefundFilters & RequestOptions = {}): AsyncGenerator<Refund, void, undefined> {
    for (let offset = 0; ; offset += pageSize) {
      const page = await this.list({ ...filters, limit: pageSize, offset });
      yield* page;
      if (page.length < pageSize) return;
    }
  }

  /** @throws RefundApiError refund_not_cancellable when it is too late. */
  async cancel(id: string, options: IdempotentOptions = {}): Promise<Refund> {
    const path = `${pathOf(id)}/cancel`;
    return await this.#transport.data<'cancelRefund'>({ method: 'POST', path, ...withKey(options) });
  }

  /** What happened to one refund, oldest first. */
  async events(id: string, options: RequestOptions = {}): Promise<RefundEvent[]> {
    const path = `${pathOf(id)}/events`;
    return await this.#transport.data<'listRefundEvents'>({ method: 'GET', path, ...options });
  }
}

const pathOf = (id: string) => `/v1/refunds/${segment(id)}`;

/** Made once for each call, so that the call's own retries have the same key. */
function withKey({ idempotencyKey = randomUUID(), ...options }: IdempotentOptions) {
  return { ...options, idempotencyKey };
}
