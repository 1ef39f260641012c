import { pause, withDeadline } from './deadline.ts';
import { noAnswerError, RefundApiError, readAnswer } from './errors.ts';
import type { paths } from './openapi.ts';

/** Method and path of an operation, such as `GET /v1/refunds/{id}`. */
type Route = {
  [Path in keyof paths]: {
    [Method in keyof paths[Path]]-?: paths[Path][Method] extends { responses: object }
      ? `${Uppercase<Method & string>} ${Path}`
      : never;
  }[keyof paths[Path]];
}[keyof paths];

/** The body of its successful response. */
type ResponseOf<At extends Route> = At extends `${infer Method} ${infer Path extends keyof paths}`
  ? paths[Path][Lowercase<Method> & keyof paths[Path]] extends {
      responses: { 200: { content: { 'application/json': infer Body } } };
    }
    ? Body
    : never
  : never;

/** What such a body has in `data`. */
type DataOf<At extends Route> = ResponseOf<At> extends { data: infer Data } ? Data : never;

export interface ClientOptions {
  /** Where the service is, such as `https://refunds.example.com`. */
  baseUrl: string;
  /** `svc_live_...` moves money, `svc_test_...` does not. */
  apiKey: string;
  /** Default: the global `fetch`. */
  fetch?: typeof fetch | undefined;
  /** How long an attempt may take, besides the time that a call asks the service to wait. Default: 30,000. */
  timeoutMs?: number | undefined;
  /** How often a request is repeated before its error is thrown. Default: 3. */
  maxRetries?: number | undefined;
}

interface ApiRequest {
  /** The values of the placeholders in the path. */
  path?: Readonly<Record<string, string>>;
  query?: object;
  body?: unknown;
  idempotencyKey?: string;
  /** For a POST without idempotency key that changes nothing. */
  isRead?: boolean;
  /** Seconds. */
  wait?: number | undefined;
  signal?: AbortSignal | undefined;
}

const firstBackoffMs = 500;
const longestBackoffMs = 8_000;

/** A longer `Retry-After` is left to the caller. */
const longestRetryAfterMs = 60_000;

/** Sends requests, and repeats those that cannot be carried out twice. */
export class Transport {
  readonly #baseUrl: string;
  readonly #apiKey: string;
  readonly #fetch: typeof fetch;
  readonly #timeoutMs: number;
  readonly #maxRetries: number;

  /** @throws TypeError for a `baseUrl` or `apiKey` that cannot be right. */
  constructor({ baseUrl, apiKey, fetch: given, timeoutMs = 30_000, maxRetries = 3 }: ClientOptions) {
    if (!URL.canParse(baseUrl)) throw new TypeError('baseUrl: pass the address of the service, https://...');
    // Checked here, because fetch would quote an invalid header with the key in its error.
    if (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey)) {
      throw new TypeError('apiKey: pass an API key of the service, svc_test_... or svc_live_...');
    }
    this.#baseUrl = baseUrl.replace(/\/+$/, '');
    this.#apiKey = apiKey;
    this.#fetch = given ?? globalThis.fetch;
    this.#timeoutMs = timeoutMs;
    this.#maxRetries = maxRetries;
  }

  /** As `send`. @returns the `data` of the response. */
  async data<At extends Route>(route: At, request: ApiRequest): Promise<DataOf<At>> {
    const body = (await this.send(route, request)) as { data: DataOf<At> };
    return body.data;
  }

  /**
   * @returns the body of the response.
   * @throws RefundApiError after the last retry; the signal's reason when it is aborted.
   */
  async send<At extends Route>(route: At, request: ApiRequest): Promise<ResponseOf<At>> {
    const [method = '', path = ''] = route.split(' ');
    const url = `${this.#baseUrl}${pathOf(path, request.path)}${queryOf(request.query)}`;
    for (let retries = 0; ; retries += 1) {
      request.signal?.throwIfAborted();
      try {
        return (await this.#sendOnce(method, url, request)) as ResponseOf<At>;
      } catch (error) {
        if (!(error instanceof RefundApiError)) throw error;
        error.idempotencyKey = request.idempotencyKey ?? null;
        if (retries >= this.#maxRetries) throw error;
        if (!mayRepeat(method, request, error) || (error.retryAfterMs ?? 0) > longestRetryAfterMs)
          throw error;
        const backoffMs = Math.min(longestBackoffMs, firstBackoffMs * 2 ** retries);
        await pause((error.retryAfterMs ?? 0) + Math.random() * backoffMs, request.signal);
      }
    }
  }

  async #sendOnce(method: string, url: string, request: ApiRequest): Promise<unknown> {
    const { body, wait = 0, signal } = request;
    const init = {
      method,
      headers: this.#headersOf(request),
      body: body === undefined ? null : JSON.stringify(body),
      // A redirected POST would become a GET.
      redirect: 'manual' as const,
    };
    const send = this.#fetch;
    try {
      return await withDeadline(this.#timeoutMs + wait * 1000, signal, async (deadline) => {
        const response = await send(url, { ...init, signal: deadline });
        return readAnswer(response, await response.text());
      });
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw error instanceof RefundApiError ? error : noAnswerError(this.#baseUrl, error);
    }
  }

  #headersOf({ body, idempotencyKey, wait }: ApiRequest): Headers {
    const headers = new Headers({ authorization: `Bearer ${this.#apiKey}` });
    if (body !== undefined) headers.set('content-type', 'application/json');
    if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey);
    if (wait !== undefined) headers.set('prefer', wait > 0 ? `wait=${Math.ceil(wait)}` : 'respond-async');
    return headers;
  }
}

/**
 * A request that may have been carried out is repeated only if that changes nothing more. A DELETE is not: its repetition would
 * get a 404 for what the first one deleted.
 */
function mayRepeat(
  method: string,
  { idempotencyKey, isRead }: ApiRequest,
  { retryable, code }: RefundApiError,
): boolean {
  if (!retryable) return false;
  const wasRefused = code === 'rate_limited' || code === 'service_unavailable';
  return (
    wasRefused || method === 'GET' || method === 'PATCH' || idempotencyKey !== undefined || isRead === true
  );
}

/** Lists are joined by commas, dates are in ISO 8601, the entries of an object are `name[key]=value`. */
function queryOf(query: object = {}): string {
  const parameters = Object.entries(query).flatMap(([name, value]): [string, string][] => {
    if (value === undefined || value === null) return [];
    if (value instanceof Date) return [[name, value.toISOString()]];
    if (typeof value !== 'object' || Array.isArray(value)) return [[name, String(value)]];
    return Object.entries(value).map(([key, part]) => [`${name}[${key}]`, String(part)]);
  });
  return parameters.length === 0 ? '' : `?${new URLSearchParams(parameters)}`;
}

/** @throws TypeError for an id that would make it another path. */
function pathOf(path: string, ids: Readonly<Record<string, string>> = {}): string {
  return path.replace(/\{(\w+)\}/g, (_placeholder, name) => {
    const id = ids[name] ?? '';
    if (/^\.{0,2}$/.test(id)) throw new TypeError(`${name}: ${JSON.stringify(id)} is not an id`);
    return encodeURIComponent(id);
  });
}
