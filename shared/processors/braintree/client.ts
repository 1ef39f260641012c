import http from 'node:http';
import https from 'node:https';
import { createRequire } from 'node:module';
import type braintree from 'braintree';
import type { Deadline } from '../contract/calls.ts';

const require = createRequire(import.meta.url);

/** Braintree's SDK. It is loaded with the first account, because it would hold up the start of every process. */
const braintreeSdk = (): typeof braintree => require('braintree');

/** What a person supplies for a Braintree account, checked. */
export interface BraintreeCredentials {
  merchantId: string;
  publicKey: string;
  privateKey: string;
  /** Scheme, host and port. */
  apiBase: string;
  /** True for an account that may use request keys: Braintree then repeats no refund with the same key. */
  useApiRequestKey: boolean;
}

export interface RefundOptions {
  amount: string;
  orderId: string;
  apiRequestKey?: string;
}

/** What is used of the SDK. Its published types lag behind it, and replies are checked anyway. */
interface Transactions {
  find(id: string): Promise<unknown>;
  refund(id: string, options: RefundOptions): Promise<unknown>;
  void(id: string, options?: { apiRequestKey: string }): Promise<unknown>;
}

/** What a search asks for; times are ISO 8601, both ends included. */
export interface TransactionSearch {
  type?: readonly string[];
  status?: readonly string[];
  createdAt?: { min: string; max: string };
  voidedAt?: { min: string; max: string };
  ids?: readonly string[];
}

/** What the SDK's own searches are made of. */
interface Requests {
  http: { post(path: string, body: unknown): Promise<unknown> };
  config: { baseMerchantPath(): string };
}

/**
 * Braintree's requests for one call of the adapter, with one deadline for all of them. The SDK's own timeout starts
 * anew with every byte, and the SDK cannot abort; so each call has its own sockets, which are destroyed when time is
 * up. Sockets are not kept alive: one that dies while idle would leave the outcome of the next refund unknown.
 */
export class BraintreeClient {
  readonly #transactions: Transactions;
  readonly #requests: Requests;
  readonly #agent: http.Agent;
  readonly #deadline: Deadline;

  constructor(credentials: BraintreeCredentials, deadline: Deadline) {
    const isSecure = new URL(credentials.apiBase).protocol === 'https:';
    this.#agent = isSecure ? new https.Agent({ keepAlive: false }) : new http.Agent({ keepAlive: false });
    this.#deadline = deadline;
    const gateway = openGateway(credentials, { customHttpAgent: this.#agent });
    this.#transactions = gateway.transaction as unknown as Transactions;
    this.#requests = gateway as unknown as Requests;
  }

  /** Reads a sale or a credit. @param leaveMs is kept back of the deadline for what has to follow. */
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

  /** The ids of the transactions that fit. */
  async searchIds(search: TransactionSearch): Promise<unknown> {
    return await this.#search('advanced_search_ids', search);
  }

  /** The transactions that fit; a page at most. */
  async searchPage(search: TransactionSearch): Promise<unknown> {
    return await this.#search('advanced_search', search);
  }

  /**
   * The SDK's search makes these two requests as well; but it waits for ever when a transaction goes missing between
   * them.
   */
  async #search(path: string, search: TransactionSearch): Promise<unknown> {
    const { http, config } = this.#requests;
    return await this.#call(() => http.post(`${config.baseMerchantPath()}/transactions/${path}`, { search }));
  }

  async #call(work: () => Promise<unknown>, leaveMs = 0): Promise<unknown> {
    return await this.#deadline.guard(work, { abandon: () => this.#agent.destroy(), leaveMs });
  }
}

/** The part of the SDK that verifies what Braintree sends. */
export interface Notifications {
  parse(signature: string, payload: string): Promise<unknown>;
  /** Throws for what is no challenge. */
  verify(challenge: string): string;
}

/** Verifies with an account's keys; nothing is sent. */
export function openNotifications(credentials: BraintreeCredentials): Notifications {
  return openGateway(credentials).webhookNotification as unknown as Notifications;
}

function openGateway(
  { merchantId, publicKey, privateKey, apiBase }: BraintreeCredentials,
  options: { customHttpAgent?: http.Agent } = {},
): braintree.BraintreeGateway {
  const { protocol, hostname, port } = new URL(apiBase);
  const isSecure = protocol === 'https:';
  const environment = environmentOf(hostname, port || (isSecure ? '443' : '80'), isSecure);
  const config = { merchantId, publicKey, privateKey, environment, ...options };
  return new (braintreeSdk().BraintreeGateway)(config);
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
  const Environment = braintreeSdk().Environment as unknown as EnvironmentConstructor;
  // A bracketed IPv6 address is a URL's notation; sockets want it bare.
  const host = server.replace(/^\[(.*)\]$/, '$1');
  return new Environment(host, port, 'http://unused.invalid', ssl, host, port);
}

/** Sales and credits have ids of one shape; the SDK puts nothing else into a path either. */
export function isTransactionId(id: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(id);
}
