import { encodeRequest } from './load.ts';

// The requests of the bench. The service and the naked pipeline get the same bytes but for the key.

/** What a load consists of. */
export type LoadId = 'create' | 'key' | 'new' | 'wait' | 'get' | 'list';

/** Payments registered at the sandbox, large enough for every refund of a run. */
export const knownPayments = Array.from({ length: 500 }, (_, n) => `ch_bench${n}`);
export const knownPaymentAmount = 99_999_999;

/** The naked pipeline is not told by the payment, so it is told by this header to read it first. */
export const readChargeHeader = 'x-bench-read-charge';

/** Ids of refunds to read are remembered up to this number. */
const mostIds = 10_000;

export class Requests {
  readonly #name: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly #ids: string[] = [];
  #count = 0;
  #remembered = 0;

  /** @param name keeps the ids of one pipeline's payments and keys apart from the other's. */
  constructor(name: string, key: string) {
    this.#name = name;
    this.headers = { authorization: `Bearer ${key}` };
  }

  next(load: LoadId): string {
    this.#count += 1;
    if (load === 'get') return this.#get(`/v1/refunds/${this.#ids[this.#count % this.#ids.length]}`);
    if (load === 'list') return this.#get('/v1/refunds');
    const payment = load === 'new' ? `ch_${this.#name}_${this.#count}` : knownPayment(this.#count);
    return this.create(payment, this.#headersOf(load));
  }

  /** A creation of a refund of 1 of a payment. */
  create(transactionId: string, headers: Record<string, string> = {}): string {
    return encodeRequest({
      method: 'POST',
      path: '/v1/refunds',
      headers: { ...this.headers, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ transactionId, amount: 1, currency: 'usd', reason: 'product_defective' }),
    });
  }

  /** Takes the answer to a creation. */
  remember(body: string): void {
    const id = /"id":"(ref_\w+)"/.exec(body)?.[1];
    if (id === undefined) return;
    this.#ids[this.#remembered % mostIds] = id;
    this.#remembered += 1;
  }

  #headersOf(load: LoadId): Record<string, string> {
    switch (load) {
      case 'key':
        return { ...respondAsync, 'idempotency-key': `${this.#name}-${this.#count}` };
      case 'new':
        return { ...respondAsync, [readChargeHeader]: '1' };
      case 'wait':
        return {};
      default:
        return respondAsync;
    }
  }

  #get(path: string): string {
    return encodeRequest({ method: 'GET', path, headers: this.headers });
  }
}

export const respondAsync = { prefer: 'respond-async' };

function knownPayment(n: number): string {
  return knownPayments[n % knownPayments.length] ?? '';
}
