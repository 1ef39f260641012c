import { randomUUID } from 'node:crypto';
import { segment, type Transport } from './transport.ts';
import type {
  CreateRefund,
  DetailedRefund,
  GetRefund,
  IdempotentOptions,
  ListRefunds,
  Refund,
  RefundDryRun,
  RefundEvent,
  RefundFilters,
  RejectRefund,
  RequestOptions,
} from './types.ts';

const pageSize = 100;

export class Refunds {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates a refund once, however often the request has to be repeated. */
  async create(body: CreateRefund, options: IdempotentOptions = {}): Promise<Refund> {
    const request = { method: 'POST', path: '/v1/refunds', body, ...withKey(options) } as const;
    // The other response is that of a dry run.
    return (await this.#transport.data<'createRefund'>(request)) as Refund;
  }

  /** What `create` would come to now. Nothing is reserved, sent or stored. */
  async dryRun(body: CreateRefund, options: RequestOptions = {}): Promise<RefundDryRun> {
    const request = { method: 'POST', path: '/v1/refunds', isRead: true } as const;
    const answer = await this.#transport.data<'createRefund'>({
      ...request,
      body: { ...body, dryRun: true },
      ...options,
    });
    return answer as RefundDryRun;
  }

  /** With `wait`, responds when the status changes, or at once if it is final. */
  async get(id: string, { include, ...options }: GetRefund = {}): Promise<DetailedRefund> {
    const request = { method: 'GET', path: pathOf(id), query: { include } } as const;
    return await this.#transport.data<'getRefund'>({ ...request, ...options });
  }

  /** One page, newest first. */
  async list({ signal, ...query }: ListRefunds = {}): Promise<Refund[]> {
    const path = '/v1/refunds';
    return await this.#transport.data<'listRefunds'>({ method: 'GET', path, query, signal });
  }

  /** All refunds that match, newest first; not those that are created meanwhile. */
  async *all(filters: RefundFilters & RequestOptions = {}): AsyncGenerator<Refund, void, undefined> {
    let after: string | undefined;
    for (;;) {
      const page = await this.list({ ...filters, limit: pageSize, after });
      yield* page;
      if (page.length < pageSize) return;
      after = page.at(-1)?.id;
    }
  }

  /** @throws RefundApiError refund_not_cancellable when it is too late. */
  async cancel(id: string, options: IdempotentOptions = {}): Promise<Refund> {
    const path = `${pathOf(id)}/cancel`;
    return await this.#transport.data<'cancelRefund'>({ method: 'POST', path, ...withKey(options) });
  }

  /**
   * Sends a refund that is awaiting approval. The key needs the scope `refunds:approve`, and the person behind it must not have
   * requested the refund.
   */
  async approve(id: string, options: RequestOptions = {}): Promise<Refund> {
    const path = `${pathOf(id)}/approve`;
    return await this.#transport.data<'approveRefund'>({ method: 'POST', path, ...options });
  }

  /** Cancels a refund that is awaiting approval. */
  async reject(id: string, body: RejectRefund = {}, options: RequestOptions = {}): Promise<Refund> {
    const path = `${pathOf(id)}/reject`;
    return await this.#transport.data<'rejectRefund'>({ method: 'POST', path, body, ...options });
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
