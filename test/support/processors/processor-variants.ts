import { newId } from '#shared/platform/ids.ts';
import type { CallAnswer, Processor, RefundSubmission } from '#shared/processors/contract/processor.ts';
import { processorKind } from '#shared/processors/registry.ts';
import type { SandboxProcessor } from '../../sandbox/processor.ts';
import { sandboxProcessors } from '../../sandbox/processors.ts';
import { noProxies } from '../http/proxy-server.ts';
import { madeBeforeTests } from '../made-before-tests.ts';
import { submissionFor } from '../refunds/refund-records.ts';
import { type ReportedRefund, type SignedWebhook, type Signer, webhookAbout } from './signed-webhooks.ts';
import { useSandbox } from './use-sandbox.ts';

export interface OtherName {
  title: string;
  /** What the payment is created with. @param key makes its names unlike those of other payments. */
  fields: (key: string) => Record<string, unknown>;
  /** @param id of the payment. @returns the name to ask for, and the others that the answer tells. */
  names: (key: string, id: string) => readonly [asked: string, ...others: string[]];
}

/** One way to use one processor; every promise of the contract is held against all of them. */
export interface ProcessorVariant {
  title: string;
  name: string;
  credentials: Record<string, unknown>;
  wrongCredentials: Record<string, unknown>;
  /** A payment whose refunds can be cancelled. */
  cancellable: Record<string, unknown>;
  /** True when the processor itself knows a repeated submission by its key. */
  knowsKeys: boolean;
  /** Ids of the processor's form: of any payment and refund, of missing ones, and of a payment whose refunds are declined. */
  ids: { payment: string; refund: string; missingPayment: string; missingRefund: string; declined: string };
  /** Every id of a payment, given the one by which it was created. */
  transactionIds: (id: string) => readonly string[];
  /** What else a payment is known by. */
  otherNames: readonly OtherName[];
  /** With what several payments are created that share a name. */
  sharedName: { fields: Record<string, unknown>; name: string };
  /** The processor's words for a refund that has succeeded and one that has failed. */
  statuses: { completed: string; failed: string };
  /** The sandbox's status of a payment that was charged back. */
  chargedBack: string;
  /** The sandbox's names of the request that looks up a refund, and of the last one that reads a payment. */
  operations: { lookup: string; refundsOfPayment: string };
  webhooks: {
    /** A webhook about a refund, signed for the account of an environment. */
    about(reported: ReportedRefund, signer?: Signer): SignedWebhook;
    reported: ReportedRefund;
    /** What is read from a webhook about that refund. */
    event: { id: RegExp; type: string; environment: 'test' | null; transactionIds: readonly string[] };
  };
  /** The adapter with the credentials of the sandbox's test account, which sign its webhooks. */
  connectAccount(): Processor;
}

const refundId = newId('ref');

/** The adapter that verifies webhooks of the sandbox's test account; nothing is sent. */
export function connectForWebhooks({ name, credentials }: SandboxProcessor): Processor {
  return connect(name, credentials('test'), 'http://127.0.0.1:9');
}

export const stripeCredentials = { secretKey: 'sk_test_variant' };
export const braintreeCredentials = { merchantId: 'merchant', publicKey: 'public', privateKey: 'private' };

const stripe: ProcessorVariant = {
  title: 'stripe',
  name: 'stripe',
  webhooks: {
    about: (reported, signer) => webhookAbout('stripe', reported, signer),
    reported: { externalRefundId: 're_1', refundId, transactionId: 'ch_1' },
    event: {
      id: /^evt_[0-9a-z]{24}$/,
      type: 'refund.updated',
      environment: 'test',
      transactionIds: ['ch_1', 'pi_1'],
    },
  },
  connectAccount: () => connectForWebhooks(sandboxProcessors.stripe),
  credentials: stripeCredentials,
  wrongCredentials: { secretKey: 'sk_test_invalid' },
  cancellable: { paymentMethod: 'customer_balance' },
  knowsKeys: true,
  ids: {
    payment: 'ch_123',
    refund: 're_1',
    missingPayment: 'ch_missing',
    missingRefund: 're_missing',
    declined: 'ch_declined_once',
  },
  transactionIds: (id) => [`pi_${id.slice(3)}`, id],
  otherNames: [
    {
      title: 'a checkout session',
      fields: (key) => ({ checkoutSession: `cs_test_${key}` }),
      names: (key) => [`cs_test_${key}`],
    },
    {
      title: 'an invoice',
      fields: (key) => ({ invoice: `in_${key}` }),
      names: (key) => [`in_${key}`],
    },
    {
      title: 'the checkout session of a subscription',
      fields: (key) => ({ checkoutSession: `cs_test_${key}`, invoice: `in_${key}` }),
      names: (key) => [`cs_test_${key}`, `in_${key}`],
    },
  ],
  sharedName: { fields: { invoice: 'in_parts' }, name: 'in_parts' },
  statuses: { completed: 'succeeded', failed: 'failed' },
  chargedBack: 'disputed',
  operations: { lookup: 'refund.find', refundsOfPayment: 'refund.find' },
};

const anyBraintree = {
  name: 'braintree',
  webhooks: {
    about: (reported: ReportedRefund, signer?: Signer) => webhookAbout('braintree', reported, signer),
    reported: { externalRefundId: 'credit1', refundId, transactionId: 'sale1' },
    event: {
      id: /^[0-9a-f]{64}$/,
      type: 'transaction_settled',
      environment: null,
      transactionIds: ['sale1'],
    },
  },
  connectAccount: () => connectForWebhooks(sandboxProcessors.braintree),
  cancellable: {},
  ids: {
    payment: 'sale123',
    refund: 'credit_1',
    missingPayment: 'missing',
    missingRefund: 'credit_missing',
    declined: 'declined_once',
  },
  transactionIds: (id: string) => [id],
  otherNames: [
    {
      title: 'its id in the GraphQL API',
      fields: () => ({}),
      names: (_key: string, id: string): [string] => [Buffer.from(`transaction_${id}`).toString('base64url')],
    },
    {
      title: 'its order id',
      fields: (key: string) => ({ orderId: `#${key}` }),
      names: (key: string): [string] => [`#${key}`],
    },
  ],
  sharedName: { fields: { orderId: '#shared' }, name: '#shared' },
  statuses: { completed: 'settled', failed: 'processor_declined' },
  chargedBack: 'disputed',
  operations: { lookup: 'transaction.get', refundsOfPayment: 'refund.get' },
} as const;

export const braintreeVariants: readonly ProcessorVariant[] = [
  {
    title: 'braintree',
    ...anyBraintree,
    credentials: braintreeCredentials,
    wrongCredentials: { ...braintreeCredentials, publicKey: 'invalid' },
    knowsKeys: false,
  },
  {
    title: 'braintree with request keys',
    ...anyBraintree,
    credentials: { ...braintreeCredentials, useApiRequestKey: true },
    wrongCredentials: { ...braintreeCredentials, privateKey: 'invalid', useApiRequestKey: true },
    knowsKeys: true,
  },
];

export const processorVariants: readonly ProcessorVariant[] = [stripe, ...braintreeVariants];

/** A processor's adapter, as the service makes it, with its address at `url`. */
export function connect(
  name: string,
  credentials: Record<string, unknown>,
  url: string,
  proxies = noProxies,
  connectedAccount: string | null = null,
): Processor {
  const kind = processorKind(name);
  const parsed = kind.parseCredentials({ ...credentials, apiBase: url }, 'test');
  return kind.connect(parsed, proxies)(connectedAccount);
}

/** Limits of a call, longer than any machine takes for it. */
export const options = { timeoutMs: 60_000 };

/** Gives a `describe` block a sandbox in which refunds stay open, and the variant's adapter connected to it. */
export function useProcessor(variant: ProcessorVariant) {
  const { name, credentials, ids } = variant;
  const { sandbox, control } = useSandbox({ autoSettle: false });
  const processor = madeBeforeTests('The processor', () => connect(name, credentials, sandbox.url));
  /** A payment of 50.00 USD. */
  const payment = (changes: Record<string, unknown> = {}) =>
    control.transaction({ processor: name, amount: 5_000, currency: 'usd', ...changes });
  return {
    sandbox,
    control,
    processor,
    payment,
    /** A new payment with an accepted refund of 15.00 USD. */
    async refunded(changes: Record<string, unknown> = {}, asked: Partial<RefundSubmission> = {}) {
      const transactionId = await payment(changes);
      const submission = submissionFor(transactionId, asked);
      const answer = await processor.createRefund(submission, options);
      if (answer.kind !== 'accepted') throw new Error(answer.kind);
      return { transactionId, submission, refund: answer.refund };
    },
    /** What an adapter answers to each call about one payment. */
    async everyCall(adapter: Processor, transactionId: string): Promise<CallAnswer[]> {
      const submission = submissionFor(transactionId);
      return [
        await adapter.getPayment(transactionId, options),
        await adapter.createRefund(submission, options),
        await adapter.findRefund(submission, options),
        await adapter.getRefund(ids.refund, submission, options),
        await adapter.cancelRefund(ids.refund, submission, options),
      ];
    },
    /** The refunds that moved money of a payment. */
    moved: (transactionId: string) => control.refunds({ processor: name, transactionId }),
  };
}
