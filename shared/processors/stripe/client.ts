import { type Agent, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import Stripe from 'stripe';
import { openAgent, type ProxySettings } from '../../platform/outgoing/proxy.ts';
import type { Deadline } from '../contract/calls.ts';
import { isClientSecret } from '../contract/credentials.ts';

/** The validated credentials of a Stripe account. */
export interface StripeCredentials {
  secretKey: string;
  /** Scheme, host and port. */
  apiBase: string;
  /** The signing secret of the webhook endpoint. Without it every webhook is refused. */
  webhookSecret?: string | undefined;
  /** The same of the endpoint for events of connected accounts. */
  connectWebhookSecret?: string | undefined;
}

/** What requests are made with. */
export interface StripeAccess {
  stripe: Stripe;
  /**
   * What goes with each request: its time limit, and the connected account that it is about.
   * @throws DeadlineExceededError when no time is left.
   */
  within(deadline: Deadline): Stripe.RequestOptions;
}

/** @param connectedAccount named in every request, which is then about what belongs to it; null for the account of the key. */
export function accessTo(stripe: Stripe, connectedAccount: string | null): StripeAccess {
  const about = connectedAccount === null ? {} : { stripeAccount: connectedAccount };
  return { stripe, within: (deadline) => ({ timeout: deadline.remainingMs(), ...about }) };
}

/** A client that makes one HTTP request per call, within one time limit. It keeps connections open, for all connected accounts. */
export function stripeClient({ secretKey, apiBase }: StripeCredentials, proxies: ProxySettings): Stripe {
  const { protocol, hostname, port } = new URL(apiBase);
  const scheme = protocol === 'https:' ? 'https' : 'http';
  return new Stripe(secretKey, {
    protocol: scheme,
    host: hostname,
    port: port === '' ? { http: 80, https: 443 }[scheme] : Number(port),
    maxNetworkRetries: 0,
    telemetry: false,
    httpClient: singleRequestClient(scheme, openAgent(new URL(apiBase), idleConnections, proxies)),
  });
}

type HttpClient = NonNullable<NonNullable<ConstructorParameters<typeof Stripe>[1]>['httpClient']>;
type HttpResponse = Awaited<ReturnType<HttpClient['makeRequest']>>;

/** Shorter than servers keep an idle connection: a request on a connection that is being closed would be lost. */
const keepIdleMs = 4_000;

const idleConnections = { keepAlive: true, timeout: keepIdleMs };

/** Characters; a page of a hundred refunds takes some 200,000. */
const longestAnswer = 8_000_000;

/**
 * An HTTP client that makes one request per call, within one time limit. The SDK's default client repeats a request after a
 * closed connection even when retries are off, which hides the outcome of the first one, and its timeout restarts with every
 * byte. Its fetch client does neither, and takes four times the CPU time. Redirects are not followed: that would send a refund
 * twice, and to another server.
 */
function singleRequestClient(protocol: 'http' | 'https', agent: Agent): HttpClient {
  const send = protocol === 'https' ? requestHttps : requestHttp;
  return {
    getClientName: () => 'node',
    makeRequest: (host, port, path, method, headers, body, _protocol, timeoutMs) =>
      new Promise((resolve, reject) => {
        // The headers' type is that of fetch; the SDK gives an object of texts and numbers.
        const options = { agent, method, headers: headers as Record<string, string> };
        const request = send(new URL(`${protocol}://${host}:${port}${path}`), options);
        const deadline = setTimeout(() => {
          const isConnected = request.socket?.connecting === false;
          const syscall = isConnected ? {} : { syscall: 'connect' };
          reject(Object.assign(new Error('There was no answer in time.'), { code: 'ETIMEDOUT', ...syscall }));
          request.destroy();
        }, timeoutMs);
        const fail = (cause: Error) => {
          clearTimeout(deadline);
          // Wrapped, because the SDK goes by the network's code when it repeats a request.
          reject(new Error('The connection failed.', { cause }));
        };
        request.on('error', fail);
        request.on('upgrade', (_response, socket) => {
          socket.destroy();
          fail(new Error('The connection was switched to another protocol.'));
        });
        request.on('response', (response) => {
          let text = '';
          response.setEncoding('utf8');
          response.on('data', (chunk: string) => {
            text += chunk;
            if (text.length > longestAnswer) response.destroy(new Error('The answer is too long.'));
          });
          response.on('error', fail);
          response.on('end', () => {
            clearTimeout(deadline);
            resolve(answered(response, text));
          });
        });
        request.end(body);
      }),
  };
}

function answered(response: IncomingMessage, text: string): HttpResponse {
  return {
    getStatusCode: () => response.statusCode ?? 0,
    getHeaders: () => response.headers as Record<string, string>,
    getRawResponse: () => response,
    toStream: () => {
      throw new TypeError('Streams are not supported');
    },
    toJSON: async () => {
      const body: unknown = JSON.parse(text);
      // The SDK treats every object without an error as a success, regardless of the status.
      const isSuccess = response.statusCode !== undefined && response.statusCode < 300;
      if (isSuccess || (body !== null && typeof body === 'object' && 'error' in body)) return body;
      throw new Error(`Stripe answered ${response.statusCode} without an error.`);
    },
  };
}

const paymentId = /^(ch|py|pi)_[A-Za-z0-9_]{1,250}$/;
const nameOfPayment = /^(cs|in)_[A-Za-z0-9_]{1,250}$/;
const refundId = /^(re|pyr)_[A-Za-z0-9_]{1,250}$/;

/** The format of the ids of accounts. Only such an id is sent as a header. */
export const accountId = /^acct_[A-Za-z0-9_]{1,250}$/;

/** The ids of charges, of payments by other methods than cards, and of payment intents. Only Stripe has such ids. */
export function isPaymentId(id: string): boolean {
  return paymentId.test(id) && !isClientSecret(id);
}

/** The ids of checkout sessions and of invoices. Only Stripe has such ids. */
export function isNameOfPayment(id: string): boolean {
  return nameOfPayment.test(id) && !isClientSecret(id);
}

/** Only such an id is sent as part of a path. */
export function isRefundId(id: string): boolean {
  return refundId.test(id);
}

/** Names a payment in a request about its refunds. */
export function paymentParameter(id: string): { payment_intent: string } | { charge: string } {
  return id.startsWith('pi_') ? { payment_intent: id } : { charge: id };
}
