import { waitFor } from '../support/wait-for.ts';
import type { LoadRequest } from './load.ts';
import type { Pipeline } from './pipelines.ts';

// The service and the naked pipeline get the same requests, apart from the key.

/** A kind of request. */
export type LoadId = 'create' | 'key' | 'new' | 'wait' | 'get' | 'list';

/** Payments at the sandbox, large enough for all refunds of a run. */
export const knownPayments = Array.from({ length: 500 }, (_, n) => `ch_bench${n}`);
export const knownPaymentAmount = 99_999_999;

/** Tells the naked pipeline to read the payment first. */
export const readChargeHeader = 'x-bench-read-charge';

/** How many ids of refunds are kept, to be read. */
const mostIds = 10_000;

export class Requests {
  /** In ISO 8601. */
  readonly startedAt = new Date().toISOString();
  readonly #name: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly #ids: string[] = [];
  #count = 0;
  #remembered = 0;

  /** @param name distinguishes the payments and keys of the pipelines. */
  constructor(name: string, key: string) {
    this.#name = name;
    this.headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  }

  next(load: LoadId): LoadRequest {
    this.#count += 1;
    const number = this.#count;
    const payment = knownPayments[number % knownPayments.length] ?? '';
    switch (load) {
      case 'get':
        return this.#get(`/v1/refunds/${this.#ids[number % this.#ids.length]}`);
      case 'list':
        return this.#get('/v1/refunds');
      case 'new':
        return this.#create(`ch_${this.#name}_${number}`, { ...respondAsync, [readChargeHeader]: '1' });
      case 'key':
        return this.#create(payment, { ...respondAsync, 'idempotency-key': `${this.#name}-${number}` });
      case 'wait':
        return this.#create(payment, {});
      case 'create':
        return this.#create(payment, respondAsync);
    }
  }

  /** Takes the answer to a creation. */
  remember(body: string): void {
    const id = /"id":"(ref_\w+)"/.exec(body)?.[1];
    if (id === undefined) return;
    this.#ids[this.#remembered % mostIds] = id;
    this.#remembered += 1;
  }

  #get(path: string): LoadRequest {
    return { method: 'GET', path, headers: this.headers };
  }

  #create(transactionId: string, more: Record<string, string>): LoadRequest {
    const headers = { ...this.headers, ...more };
    return { method: 'POST', path: '/v1/refunds', headers, body: JSON.stringify(refundOf(transactionId)) };
  }
}

const respondAsync = { prefer: 'respond-async' };

const refundOf = (transactionId: string) => ({
  transactionId,
  amount: 1,
  currency: 'usd',
  reason: 'product_defective',
});

/** @returns the id of the new refund, without waiting for the processor. */
export async function createRefund(pipeline: Pipeline, transactionId: string): Promise<string> {
  const options = { method: 'POST', headers: respondAsync, body: refundOf(transactionId) };
  return ((await call(pipeline, '/v1/refunds', options)) as { id: string }).id;
}

/**
 * Waits until no refund is processing.
 * @throws Error with its output when the worker has ended.
 */
export async function drain(pipeline: Pipeline): Promise<void> {
  const isDrained = async () =>
    ((await call(pipeline, '/v1/refunds?status=processing&limit=1')) as unknown[]).length === 0;
  const options = { timeoutMs: 900_000, intervalMs: 50 };
  await Promise.race([
    waitFor(`every refund of the ${pipeline.name} to end`, isDrained, options),
    failWhenWorkerEnds(pipeline),
  ]);
}

async function failWhenWorkerEnds({ name, worker }: Pipeline): Promise<never> {
  await worker.exited;
  throw new Error(`The worker of the ${name} ended.\n${worker.output().slice(-4_000)}`);
}

/** @throws Error when a refund has failed, which never happens in a valid run. */
export async function requireNoFailure(pipeline: Pipeline): Promise<void> {
  const path = `/v1/refunds?status=failed&limit=1&createdAfter=${pipeline.requests.startedAt}`;
  const [failed] = (await call(pipeline, path)) as unknown[];
  if (failed !== undefined) throw new Error(`A refund of the bench failed: ${JSON.stringify(failed)}`);
}

interface Call {
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
}

/**
 * Calls a pipeline's API and returns `data` of the answer. Repeats what is refused with 503: the requests that are measured
 * are those of `runLoad`.
 * @throws Error when the answer is an error.
 */
export async function call(
  { url, requests }: Pick<Pipeline, 'url' | 'requests'>,
  path: string,
  { method = 'GET', headers = {}, body }: Call = {},
): Promise<unknown> {
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await waitFor(`${path} to be available`, async () => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { ...requests.headers, ...headers },
      ...content,
    });
    return answer.status === 503 ? null : answer;
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} was answered with ${response.status}: ${text}`);
  return (JSON.parse(text) as { data: unknown }).data;
}
