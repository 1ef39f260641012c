import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { newId } from '../../shared/ids.ts';
import type { Processor, RefundReference, RefundSubmission } from '../../shared/processors/processor.ts';
import { processorKind } from '../../shared/processors/registry.ts';

/** One way to use one processor; every promise of the contract is held against all of them. */
export interface Bench {
  title: string;
  name: 'stripe' | 'braintree';
  credentials: Record<string, unknown>;
  wrongCredentials: Record<string, unknown>;
  /** A payment whose refunds can be cancelled. */
  cancellable: Record<string, unknown>;
  /** True when the processor itself knows a repeated submission by its key. */
  knowsKeys: boolean;
}

export const stripeCredentials = { secretKey: 'sk_test_bench' };
export const braintreeCredentials = { merchantId: 'merchant', publicKey: 'public', privateKey: 'private' };

export const benches: readonly Bench[] = [
  {
    title: 'stripe',
    name: 'stripe',
    credentials: stripeCredentials,
    wrongCredentials: { secretKey: 'sk_test_invalid' },
    cancellable: { paymentMethod: 'customer_balance' },
    knowsKeys: true,
  },
  {
    title: 'braintree',
    name: 'braintree',
    credentials: braintreeCredentials,
    wrongCredentials: { ...braintreeCredentials, publicKey: 'invalid' },
    cancellable: {},
    knowsKeys: false,
  },
  {
    title: 'braintree with request keys',
    name: 'braintree',
    credentials: { ...braintreeCredentials, useApiRequestKey: true },
    wrongCredentials: { ...braintreeCredentials, privateKey: 'invalid', useApiRequestKey: true },
    cancellable: {},
    knowsKeys: true,
  },
];

/** A processor's adapter, as the service makes it, with its address at `url`. */
export function connect(name: string, credentials: Record<string, unknown>, url: string): Processor {
  const kind = processorKind(name);
  return kind.connect(kind.parseCredentials({ ...credentials, apiBase: url }, 'test'));
}

export function submissionFor(
  transactionId: string,
  changes: Partial<RefundSubmission> = {},
): RefundSubmission {
  const refundId = newId('ref');
  return {
    refundId,
    transactionId,
    amount: 1_500n,
    currency: 'usd',
    reason: 'customer_request',
    idempotencyKey: `${refundId}-0`,
    ...changes,
  };
}

export function referenceOf({
  refundId,
  transactionId,
  amount,
  currency,
}: RefundSubmission): RefundReference {
  return { refundId, transactionId, amount, currency };
}

/** What a scripted server saw. */
export interface Seen {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface ScriptedServer {
  url: string;
  seen: Seen[];
  close(): Promise<void>;
}

/** A server that answers as the test says. */
export async function scriptedServer(
  answer: (seen: Seen, response: ServerResponse) => void,
): Promise<ScriptedServer> {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const call: Seen = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString('utf8'),
    };
    seen.push(call);
    answer(call, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, seen, close: () => closed(server) };
}

/** Answers JSON. */
export function json(response: ServerResponse, status: number, content: unknown, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(content));
}

/** Answers XML. */
export function xml(response: ServerResponse, status: number, content: string): void {
  response.writeHead(status, { 'content-type': 'application/xml; charset=utf-8' });
  response.end(content);
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
