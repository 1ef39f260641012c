import { openAgent, type ProxySettings } from '#shared/platform/outgoing/proxy.ts';
import { openGateway } from '#shared/processors/braintree/client.ts';
import type { Processor } from '#shared/processors/contract/processor.ts';
import { stripeClient } from '#shared/processors/stripe/client.ts';
import { type SandboxControl, sandboxControl } from '../sandbox/clients.ts';
import type { ProcessorInUse } from '../support/processors/describe/anywhere.ts';
import { connect } from '../support/processors/processor-variants.ts';
import { type Recorder, startRecorder } from './recorder.ts';
import type { TestSettings } from './settings.ts';

/** How a payment is to behave; its amount in minor units of USD. */
export interface PaymentWish {
  amount: bigint;
  /** What refunds of it do: settle as usual, be pending first, or fail after they have succeeded. */
  refunds?: 'usual' | 'pending' | 'failing';
}

/** The test environment of a processor, or the sandbox in its place. */
export interface RealTarget extends ProcessorInUse {
  name: string;
  /** The connected account whose payments are tested; null for those of the account itself. */
  connectedAccount: string | null;
  /** The address that is tested. */
  base: string;
  proxies: ProxySettings;
  credentials: Record<string, unknown>;
  recorder: Recorder;
  /** Makes a payment of which a part can be refunded. @returns its id. */
  makePayment(wish: PaymentWish): Promise<string>;
  start(): Promise<void>;
  close(): Promise<void>;
}

type Own = Pick<
  RealTarget,
  'name' | 'connectedAccount' | 'base' | 'proxies' | 'credentials' | 'ids' | 'makePayment' | 'moved'
> & {
  wrongCredentials: Record<string, unknown>;
  knowsKeys: boolean;
};

/** The targets for which there are credentials. */
export function targetsOf(settings: TestSettings): RealTarget[] {
  const { stripe, braintree, sandbox, proxies } = settings;
  const control = sandbox === null ? null : sandboxControl(sandbox);
  const at = (base: string) => ({ base: sandbox ?? base, control, proxies });
  return [
    ...(stripe === null ? [] : stripeTargets(stripe, at('https://api.stripe.com'))),
    ...(braintree === null
      ? []
      : [braintreeTarget(braintree, at('https://api.sandbox.braintreegateway.com'))]),
  ].map(targetOf);
}

function stripeTargets({ key, connectedAccount }: NonNullable<TestSettings['stripe']>, place: Place): Own[] {
  const connected = connectedAccount === null ? [] : [stripeTarget(key, place, connectedAccount)];
  return [stripeTarget(key, place, null), ...connected];
}

/** Where a target is, and the control API of the sandbox that is there; null for a processor. */
interface Place {
  base: string;
  control: SandboxControl | null;
  proxies: ProxySettings;
}

function targetOf({ wrongCredentials, ...own }: Own): RealTarget {
  let recorder: Recorder | null = null;
  let processor: Processor | null = null;
  const started = <T>(made: T | null): T => {
    if (made === null) throw new Error(`${own.name} has to be started first.`);
    return made;
  };
  return {
    ...own,
    get recorder() {
      return started(recorder);
    },
    get processor() {
      return started(processor);
    },
    wrong: () => connect(own.name, wrongCredentials, started(recorder).url),
    payment: () => own.makePayment({ amount: 5_000n }),
    async start() {
      recorder = await startRecorder(own.base, own.proxies);
      processor = connect(own.name, own.credentials, recorder.url, undefined, own.connectedAccount);
    },
    close: async () => await recorder?.close(),
  };
}

/** The sandbox has no test cards on its API, so its payments come from its control API. */
function madeByControl(
  control: SandboxControl,
  { name: processor, connectedAccount }: Pick<Own, 'name' | 'connectedAccount'>,
  { amount, refunds = 'usual' }: PaymentWish,
) {
  const cards = { usual: undefined, pending: '4000000000007726', failing: '4000000000005126' };
  const card = cards[refunds];
  const traits = { ...(card && { card }), ...(connectedAccount !== null && { connectedAccount }) };
  return control.transaction({ processor, amount: Number(amount), currency: 'usd', ...traits });
}

const stripeMethods = {
  usual: 'pm_card_visa',
  pending: 'pm_card_pendingRefund',
  failing: 'pm_card_refundFail',
} as const;

function stripeTarget(
  secretKey: string,
  { base, control, proxies }: Place,
  connectedAccount: string | null,
): Own {
  const named = { name: 'stripe', connectedAccount };
  const about = connectedAccount === null ? {} : { stripeAccount: connectedAccount };
  const stripe = stripeClient({ secretKey, apiBase: base }, proxies);
  const make = async ({ amount, refunds = 'usual' }: PaymentWish) => {
    const wish = {
      amount: Number(amount),
      currency: 'usd',
      confirm: true,
      payment_method: stripeMethods[refunds],
      automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
    } as const;
    const { latest_charge: charge } = await stripe.paymentIntents.create(wish, about);
    if (charge === null) throw new Error('Stripe made no charge for the test payment.');
    return typeof charge === 'string' ? charge : charge.id;
  };
  return {
    ...named,
    base,
    proxies,
    credentials: { secretKey },
    wrongCredentials: { secretKey: 'sk_test_invalid' },
    knowsKeys: true,
    ids: { payment: 'ch_123', refund: 're_123', missingPayment: 'ch_missing', missingRefund: 're_missing' },
    makePayment: (wish) => (control === null ? make(wish) : madeByControl(control, named, wish)),
    moved: async (charge) => (await stripe.refunds.list({ charge, limit: 100 }, about)).data,
  };
}

/** The parts of Braintree's SDK that make and settle sales; its published types are outdated. */
interface Gateway {
  transaction: {
    sale(request: object): Promise<{ success: boolean; message?: string; transaction?: { id: string } }>;
    find(id: string): Promise<{ refundIds: readonly string[] }>;
  };
  testing: { settle(id: string): Promise<{ success: boolean }> };
}

function braintreeTarget(
  credentials: NonNullable<TestSettings['braintree']>,
  { base, control, proxies }: Place,
): Own {
  const named = { name: 'braintree', connectedAccount: null };
  const complete = { ...credentials, apiBase: base, useApiRequestKey: false };
  const gateway = openGateway(complete, {
    customHttpAgent: openAgent(new URL(base), {}, proxies),
  }) as unknown as Gateway;
  const make = async ({ amount }: PaymentWish) => {
    const { transaction, message } = await gateway.transaction.sale({
      amount: (Number(amount) / 100).toFixed(2),
      paymentMethodNonce: 'fake-valid-nonce',
      // Equal sales shortly after each other would be refused as duplicates.
      orderId: `test-real-${Date.now()}-${Math.random().toString(36).slice(2)}`,
      options: { submitForSettlement: true },
    });
    if (transaction === undefined) throw new Error(`Braintree refused the test payment: ${message}`);
    await gateway.testing.settle(transaction.id);
    return transaction.id;
  };
  return {
    ...named,
    base,
    proxies,
    credentials: { ...credentials },
    wrongCredentials: { ...credentials, publicKey: 'invalid' },
    knowsKeys: false,
    ids: {
      payment: 'sale123',
      refund: 'credit_1',
      missingPayment: 'missing',
      missingRefund: 'credit_missing',
    },
    makePayment: (wish) => (control === null ? make(wish) : madeByControl(control, named, wish)),
    moved: async (sale) => (await gateway.transaction.find(sale)).refundIds,
  };
}
