import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type braintree from 'braintree';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { braintreeClient, stripeClient } from '../../sandbox/clients.ts';
import { useSandbox } from '../../support/processors/use-sandbox.ts';
import { waitFor } from '../../support/wait-for.ts';

const { sandbox, control } = useSandbox({ autoSettle: false });
const keys = { publicKey: 'public', privateKey: 'private' };
const stripe = { secret: 'whsec_sandbox' };

interface Received {
  path: string;
  type: string | undefined;
  body: string;
}

let receiver: Server;
let url: string;
let received: Received[] = [];

beforeAll(async () => {
  receiver = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const { url: path = '', headers } = request;
    received.push({ path, type: headers['content-type'], body: Buffer.concat(chunks).toString() });
    response.end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  await control.settings({
    webhooks: [
      { processor: 'braintree', environment: 'test', url: `${url}/braintree-test`, ...keys },
      { processor: 'braintree', environment: 'live', url: `${url}/braintree-live`, ...keys },
      { processor: 'stripe', environment: 'test', url: `${url}/stripe-test`, ...stripe },
      { processor: 'stripe', environment: 'live', url: `${url}/stripe-live`, ...stripe },
    ],
  });
});
afterEach(() => {
  received = [];
});
afterAll(async () => {
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
});

async function credit(paymentMethod: string): Promise<braintree.Transaction> {
  const sale = await control.transaction({
    processor: 'braintree',
    amount: 5_000,
    currency: 'usd',
    paymentMethod,
  });
  const { transaction } = await braintreeClient(sandbox.url, keys).transactions.refund(sale, {
    amount: '12.00',
    orderId: 'ref_1',
  });
  return transaction;
}

/** As the SDK reads it, which verifies the signature. */
async function notification({ body }: Received): Promise<braintree.WebhookNotification> {
  const form = new URLSearchParams(body);
  const { gateway } = braintreeClient(sandbox.url, keys);
  return await gateway.webhookNotification.parse(
    form.get('bt_signature') ?? '',
    form.get('bt_payload') ?? '',
  );
}

async function next(): Promise<Received> {
  return await waitFor('a webhook', () => received.shift());
}

test.each([
  ['us_bank_account', 'settled', 'transaction_settled'],
  ['us_bank_account', 'settlement_declined', 'transaction_settlement_declined'],
])('a refund to %s that is %s sends %s with the whole transaction', async (paymentMethod, status, kind) => {
  const { id, refundedTransactionId } = await credit(paymentMethod);
  await control.driveRefund(id, { status });
  const told = await next();
  expect(told).toMatchObject({ path: '/braintree-test', type: 'application/x-www-form-urlencoded' });
  const {
    kind: toldKind,
    timestamp,
    transaction,
  } = (await notification(told)) as never as {
    kind: string;
    timestamp: string;
    transaction: braintree.Transaction;
  };
  expect(toldKind).toBe(kind);
  expect(Math.abs(Date.parse(timestamp) - Date.now())).toBeLessThan(60_000);
  expect(transaction).toMatchObject({ id, status, type: 'credit', orderId: 'ref_1', refundedTransactionId });
});

test('a failed refund to a card sends only its id and status, and a settled one sends nothing', async () => {
  const settled = await credit('card');
  await control.driveRefund(settled.id, { status: 'settled' });
  const failed = await credit('card');
  await control.driveRefund(failed.id, { status: 'processor_declined' });
  const { kind, transaction } = (await notification(await next())) as never as {
    kind: string;
    transaction: braintree.Transaction;
  };
  expect(kind).toBe('refund_failed');
  expect(transaction).toMatchObject({ id: failed.id, status: 'processor_declined' });
  expect([transaction.orderId, transaction.type]).toEqual([undefined, undefined]);
  expect(received).toEqual([]);
});

test('each account receives webhooks of its own refunds only', async () => {
  for (const environment of ['test', 'live'] as const) {
    const charge = await control.transaction({
      processor: 'stripe',
      environment,
      amount: 5_000,
      currency: 'usd',
    });
    await stripeClient(sandbox.url, `sk_${environment}_sandbox`).refunds.create({ charge });
    expect((await next()).path).toBe(`/stripe-${environment}`);
  }
  expect(received).toEqual([]);
});
