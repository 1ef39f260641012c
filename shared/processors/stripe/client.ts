import type Stripe from 'stripe';
import { singleRequestClient } from './http-client.ts';
import { stripeSdk } from './sdk.ts';

/** What a person supplies for a Stripe account, checked. */
export interface StripeCredentials {
  secretKey: string;
  /** Scheme, host and port. */
  apiBase: string;
  /** The signing secret of the webhook endpoint; without it every webhook is refused. */
  webhookSecret?: string;
}

/** A client for which one call is one HTTP request, with a deadline for the whole of it. */
export function stripeClient({ secretKey, apiBase }: StripeCredentials): Stripe {
  const { protocol, hostname, port } = new URL(apiBase);
  const scheme = protocol === 'https:' ? 'https' : 'http';
  const SdkClient = stripeSdk();
  return new SdkClient(secretKey, {
    protocol: scheme,
    host: hostname,
    port: port === '' ? { http: 80, https: 443 }[scheme] : Number(port),
    maxNetworkRetries: 0,
    telemetry: false,
    httpClient: singleRequestClient(scheme),
  });
}
