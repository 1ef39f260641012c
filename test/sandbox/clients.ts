import { Agent } from 'node:http';
import type braintree from 'braintree';
import type Stripe from 'stripe';
import { openGateway } from '#shared/processors/braintree/client.ts';
import { stripeClient as openStripe } from '#shared/processors/stripe/client.ts';

// The official SDKs and the control API, pointed at a running sandbox.

export interface MovedRefund {
  id: string;
  transactionId: string;
  amount: number;
  currency: string;
  status: string;
  key: string;
  createdAt: string;
  transferReversed: number;
  applicationFeeRefunded: number;
  account: string | null;
  connectedAccount: string | null;
}

interface ArmedFault {
  operation: string;
  kind: string;
  transactionId: string | null;
}

interface HeldRequest {
  id: string;
  transactionIds: readonly string[];
}

interface FaultsInForce {
  armed: ArmedFault[];
  strikes: Record<string, number>;
}

type Fields = Record<string, unknown>;

export type SandboxControl = ReturnType<typeof sandboxControl>;

/** Controls the sandbox at a URL. */
export function sandboxControl(url: string) {
  const call = async <T = void>(method: string, path: string, content?: unknown): Promise<T> => {
    const body = content === undefined ? {} : { body: JSON.stringify(content) };
    const response = await fetch(`${url}/_sandbox${path}`, { method, ...body });
    const answer = await response.json();
    if (!response.ok)
      throw new Error(`${response.status} ${(answer as { error: { message: string } }).error.message}`);
    return answer as T;
  };
  return {
    transaction: async (transaction: Fields) =>
      (await call<{ id: string }>('POST', '/transactions', transaction)).id,
    changeTransaction: (id: string, change: Fields) => call('POST', `/transactions/${id}`, change),
    refunds: (filter: Record<string, string> = {}) =>
      call<MovedRefund[]>('GET', `/refunds?${new URLSearchParams(filter)}`),
    driveRefund: (id: string, change: { status: string; failureReason?: string; bankReference?: string }) =>
      call('POST', `/refunds/${id}`, change),
    fault: (fault: Fields) => call('POST', '/faults', fault),
    /** Faults that may still apply. */
    faults: async () => (await call<FaultsInForce>('GET', '/faults')).armed,
    clearFaults: () => call('DELETE', '/faults'),
    /** How often each kind of fault was applied since the start of the sandbox. */
    strikes: async () => (await call<FaultsInForce>('GET', '/faults')).strikes,
    /** Calls about refunds that were made with the credentials, or on behalf, of an account that does not have them. */
    misdirected: () => call<Fields[]>('GET', '/misdirected'),
    /** Requests that await a reviewer at the processor, oldest first. */
    approvals: () => call<HeldRequest[]>('GET', '/approvals'),
    decide: (id: string, decision: 'approved' | 'denied') => call('POST', `/approvals/${id}`, { decision }),
    /** Changes a connected account; its balance in minor units, null while it covers everything. */
    account: (id: string, change: { balance?: number | null; isConnected?: boolean; environment?: string }) =>
      call<{ balance: number | null; isConnected: boolean }>('POST', `/accounts/${id}`, change),
    settings: (settings: Fields) => call<Fields>('POST', '/settings', settings),
  };
}

/** Makes one request per call. */
export function stripeClient(url: string, secretKey = 'sk_test_sandbox'): Stripe {
  const direct = { HTTPS_PROXY: null, HTTP_PROXY: null, NO_PROXY: '' };
  return openStripe({ secretKey, apiBase: url }, direct);
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
  const account = { merchantId: 'merchant', publicKey, privateKey: 'private', useApiRequestKey: true };
  const { transaction } = openGateway(
    { ...account, apiBase: url },
    { customHttpAgent: new Agent({ keepAlive: false }) },
  );
  return { transactions: transaction as unknown as BraintreeTransactions };
}
