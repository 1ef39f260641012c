import type Stripe from 'stripe';
import { stripeSdk } from './sdk.ts';

/** What a person supplies for a Stripe account, checked. */
export interface StripeCredentials {
  secretKey: string;
  /** Scheme, host and port. */
  apiBase: string;
  /** The signing secret of the webhook endpoint; without it every webhook is refused. */
  webhookSecret?: string;
}

/**
 * A client for which one call is one HTTP request, with a deadline for the whole of it. That takes the fetch client:
 * the default one repeats a request after a closed connection even when retries are off, which hides what became of
 * the first, and its timeout starts anew with every byte.
 */
export function stripeClient({ secretKey, apiBase }: StripeCredentials): Stripe {
  const { protocol, hostname, port } = new URL(apiBase);
  const isSecure = protocol === 'https:';
  const SdkClient = stripeSdk();
  return new SdkClient(secretKey, {
    protocol: isSecure ? 'https' : 'http',
    host: hostname,
    port: port === '' ? (isSecure ? 443 : 80) : Number(port),
    maxNetworkRetries: 0,
    telemetry: false,
    httpClient: SdkClient.createFetchHttpClient(fetchOnce),
  });
}

/** Stripe's API does not redirect; following one would send a refund twice, and to somebody else. */
const fetchOnce: typeof fetch = (input, init) => fetch(input, { ...init, redirect: 'manual' });
