import type { Agent } from 'node:http';
import braintree from 'braintree';
import { openAgent, type ProxySettings } from '../../platform/outgoing/proxy.ts';
import type { Deadline } from '../contract/calls.ts';

/** The validated credentials of a Braintree account. */
export interface BraintreeCredentials {
  merchantId: string;
  publicKey: string;
  privateKey: string;
  /** Scheme, host and port. */
  apiBase: string;
  /** True for an account with API request keys: Braintree does not repeat a refund with the same key. */
  useApiRequestKey: boolean;
}

interface RefundOptions {
  amount: string;
  orderId: string;
  apiRequestKey?: string;
}

/** The part of the SDK in use. Its published types are outdated, and replies are validated. */
interface Transactions {
  find(id: string): Promise<unknown>;
  refund(id: string, options: RefundOptions): Promise<unknown>;
  void(id: string, options?: { apiRequestKey: string }): Promise<unknown>;
}

/** Search criteria; times are ISO 8601, both ends included. */
export interface TransactionSearch {
  orderId?: { is: string };
  type?: readonly string[];
  status?: readonly string[];
  createdAt?: { min: string; max: string };
  voidedAt?: { min: string; max: string };
  ids?: readonly string[];
}

/** The SDK's internals that its own searches use. */
interface Requests {
  http: { post(path: string, body: unknown): Promise<unknown> };
  config: { baseMerchantPath(): string };
}

/**
 * The requests of one call to the adapter, within one deadline. The SDK's own timeout restarts with every byte, and the SDK
 * cannot abort, so each call has its own sockets, which are destroyed at the deadline. Sockets are not kept alive: one that
 * breaks while idle would leave the outcome of the next refund unknown.
 */
export class BraintreeClient {
  readonly #transactions: Transactions;
  readonly #requests: Requests;
  readonly #agent: Agent;
  readonly #deadline: Deadline;

  constructor(credentials: BraintreeCredentials, deadline: Deadline, proxies: ProxySettings) {
    this.#agent = openAgent(new URL(credentials.apiBase), { keepAlive: false }, proxies);
    this.#deadline = deadline;
    const gateway = openGateway(credentials, { customHttpAgent: this.#agent });
    this.#transactions = gateway.transaction as unknown as Transactions;
    this.#requests = gateway as unknown as Requests;
  }

  /** Reads a sale or a credit. @param leaveMs time before the deadline that is kept for the next request. */
  async find(id: string, leaveMs = 0): Promise<unknown> {
    return await this.#call(() => this.#transactions.find(id), leaveMs);
  }

  async refund(saleId: string, options: RefundOptions): Promise<unknown> {
    return await this.#call(() => this.#transactions.refund(saleId, options));
  }

  async void(id: string, apiRequestKey?: string): Promise<unknown> {
    const options = apiRequestKey === undefined ? undefined : { apiRequestKey };
    return await this.#call(() => this.#transactions.void(id, options));
  }

  /** The ids of matching transactions. @param leaveMs as in `find`. */
  async searchIds(search: TransactionSearch, leaveMs = 0): Promise<unknown> {
    return await this.#search('advanced_search_ids', search, leaveMs);
  }

  /** Matching transactions, one page at most. @param leaveMs as in `find`. */
  async searchPage(search: TransactionSearch, leaveMs = 0): Promise<unknown> {
    return await this.#search('advanced_search', search, leaveMs);
  }

  /** The SDK's search makes the same two requests, but never ends when a transaction disappears between them. */
  async #search(path: string, search: TransactionSearch, leaveMs: number): Promise<unknown> {
    const { http, config } = this.#requests;
    const url = `${config.baseMerchantPath()}/transactions/${path}`;
    return await this.#call(() => http.post(url, { search }), leaveMs);
  }

  async #call(work: () => Promise<unknown>, leaveMs = 0): Promise<unknown> {
    return await this.#deadline.guard(work, { abandon: () => this.#agent.destroy(), leaveMs });
  }
}

/** The part of the SDK that verifies webhooks. */
export interface Notifications {
  parse(signature: string, payload: string): Promise<unknown>;
  /** @throws for an invalid challenge. */
  verify(challenge: string): string;
}

/** Verifies with an account's keys; sends nothing. */
export function openNotifications(credentials: BraintreeCredentials): Notifications {
  return openGateway(credentials).webhookNotification as unknown as Notifications;
}

/** The SDK for an account. */
export function openGateway(
  { merchantId, publicKey, privateKey, apiBase }: BraintreeCredentials,
  options: { customHttpAgent?: Agent } = {},
): braintree.BraintreeGateway {
  const { protocol, hostname, port } = new URL(apiBase);
  const isSecure = protocol === 'https:';
  const environment = environmentOf(hostname, port || (isSecure ? '443' : '80'), isSecure);
  const config = { merchantId, publicKey, privateKey, environment, ...options };
  return new braintree.BraintreeGateway(config);
}

type EnvironmentConstructor = new (
  server: string,
  port: string,
  authUrl: string,
  ssl: boolean,
  graphQLServer: string,
  graphQLPort: string,
) => braintree.Environment;

/** Refunds use neither the authentication URL nor GraphQL. */
function environmentOf(server: string, port: string, ssl: boolean): braintree.Environment {
  const Environment = braintree.Environment as unknown as EnvironmentConstructor;
  // A bracketed IPv6 address is a URL's notation; sockets want it bare.
  const host = server.replace(/^\[(.*)\]$/, '$1');
  return new Environment(host, port, 'http://unused.invalid', ssl, host, port);
}

/** The format of the ids of sales and credits. */
export function isTransactionId(id: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(id);
}
