import type { Processor } from '../../../shared/processors/contract/processor.ts';
import { processorKind } from '../../../shared/processors/registry.ts';
import { madeBeforeTests } from '../made-before-tests.ts';
import { useSandbox } from './use-sandbox.ts';

/** One way to use one processor; every promise of the contract is held against all of them. */
export interface ProcessorVariant {
  title: string;
  name: 'stripe' | 'braintree';
  credentials: Record<string, unknown>;
  wrongCredentials: Record<string, unknown>;
  /** A payment whose refunds can be cancelled. */
  cancellable: Record<string, unknown>;
  /** True when the processor itself knows a repeated submission by its key. */
  knowsKeys: boolean;
}

export const stripeCredentials = { secretKey: 'sk_test_variant' };
export const braintreeCredentials = { merchantId: 'merchant', publicKey: 'public', privateKey: 'private' };

const stripe: ProcessorVariant = {
  title: 'stripe',
  name: 'stripe',
  credentials: stripeCredentials,
  wrongCredentials: { secretKey: 'sk_test_invalid' },
  cancellable: { paymentMethod: 'customer_balance' },
  knowsKeys: true,
};

export const braintreeVariants: readonly ProcessorVariant[] = [
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

export const processorVariants: readonly ProcessorVariant[] = [stripe, ...braintreeVariants];

/** A processor's adapter, as the service makes it, with its address at `url`. */
export function connect(name: string, credentials: Record<string, unknown>, url: string): Processor {
  const kind = processorKind(name);
  return kind.connect(kind.parseCredentials({ ...credentials, apiBase: url }, 'test'));
}

/** Gives a `describe` block a sandbox in which refunds stay open, and the variant's adapter connected to it. */
export function useProcessor({ name, credentials }: ProcessorVariant) {
  const { sandbox, control } = useSandbox({ autoSettle: false });
  const processor = madeBeforeTests('The processor', () => connect(name, credentials, sandbox.url));
  return {
    sandbox,
    control,
    processor,
    /** A payment of 50.00 USD. */
    payment: (changes: Record<string, unknown> = {}) =>
      control.transaction({ processor: name, amount: 5_000, currency: 'usd', ...changes }),
    /** The refunds that moved money of a payment. */
    moved: (transactionId: string) => control.refunds({ processor: name, transactionId }),
  };
}
