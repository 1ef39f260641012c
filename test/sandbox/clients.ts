import http from 'node:http';
import braintree from 'braintree';
import Stripe from 'stripe';

// The official SDKs and the control API, pointed at a running sandbox.

export interface MovedRefund {
  id: string;
  transactionId: string;
  amount: number;
  currency: string;
  status: string;
  key: string;
  createdAt: string;
}

export interface SandboxControl {
  transaction(transaction: Record<string, unknown>): Promise<string>;
  changeTransaction(id: string, change: Record<string, unknown>): Promise<void>;
  refunds(filter?: Record<string, string>): Promise<MovedRefund[]>;
  driveRefund(
    id: string,
    change: { status: string; failureReason?: string; bankReference?: string },
  ): Promise<void>;
  fault(fault: Record<string, unknown>): Promise<void>;
  /** Faults that may still apply. */
  faults(): Promise<ArmedFault[]>;
  clearFaults(): Promise<void>;
  /** How often each kind of fault was applied since the start of the sandbox. */
  strikes(): Promise<Record<string, number>>;
  settings(settings: Record<string, unknown>): Promise<Record<string, unknown>>;
}

interface ArmedFault {
  operation: string;
  kind: string;
  transactionId: string | null;
}

interface FaultsInForce {
  armed: ArmedFault[];
  strikes: Record<string, number>;
}

export function sandboxControl(url: string): SandboxControl {
  const call = async <T>(method: string, path: string, content?: unknown): Promise<T> => {
    const body = content === undefined ? {} : { body: JSON.stringify(content) };
    const response = await fetch(`${url}/_sandbox${path}`, { method, ...body });
    const answer = await response.json();
    if (!response.ok)
      throw new Error(`${response.status} ${(answer as { error: { message: string } }).error.message}`);
    return answer as T;
  };
  return {
    transaction: async (transaction) => (await call<{ id: string }>('POST', '/transactions', transaction)).id,
    changeTransaction: (id, change) => call('POST', `/transactions/${id}`, change),
    refunds: (filter = {}) => call('GET', `/refunds?${new URLSearchParams(filter)}`),
    driveRefund: (id, change) => call('POST', `/refunds/${id}`, change),
    fault: (fault) => call('POST', '/faults', fault),
    faults: async () => (await call<FaultsInForce>('GET', '/faults')).armed,
    clearFaults: () => call('DELETE', '/faults'),
    strikes: async () => (await call<FaultsInForce>('GET', '/faults')).strikes,
    settings: (settings) => call('POST', '/settings', settings),
  };
}

const TIMEOUT_MS = 5_000;

/** Uses the fetch client, because the default one repeats a request on a closed connection. */
export function stripeClient(url: string, key = 'sk_test_sandbox'): Stripe {
  const { hostname: host, port } = new URL(url);
  return new Stripe(key, {
    ...{ protocol: 'http', host, port: Number(port) },
    ...{ timeout: TIMEOUT_MS, maxNetworkRetries: 0, telemetry: false },
    httpClient: Stripe.createFetchHttpClient(),
  });
}

/** The published types lag behind the SDK: refunds take options, voids an API request key. */
export type BraintreeTransactions = Omit<braintree.BraintreeGateway['transaction'], 'refund' | 'void'> & {
  refund(
    id: string,
    options?: { amount?: string; orderId?: string; apiRequestKey?: string },
  ): Promise<BraintreeReply>;
  void(id: string, options?: { apiRequestKey?: string }): Promise<BraintreeReply>;
};

interface BraintreeReply {
  success: boolean;
  message: string;
  transaction: braintree.Transaction;
  errors: { deepErrors(): { code: string; attribute: string; message: string }[] };
}

export function braintreeClient(url: string, publicKey = 'public'): { transactions: BraintreeTransactions } {
  const { hostname, port } = new URL(url);
  // The types know only the two hosted environments; the class takes any server.
  const Environment = braintree.Environment as unknown as new (...parts: unknown[]) => braintree.Environment;
  const gateway = new braintree.BraintreeGateway({
    environment: new Environment(hostname, port, 'http://unused', false, hostname, port),
    ...{ merchantId: 'merchant', publicKey, privateKey: 'private' },
    customHttpAgent: new http.Agent({ keepAlive: false }),
  } as braintree.GatewayConfig);
  const { config } = gateway as unknown as { config: { timeout: number } };
  config.timeout = TIMEOUT_MS;
  return { transactions: gateway.transaction as unknown as BraintreeTransactions };
}
