import type { Environment } from '#shared/platform/environment.ts';
import type { RefundOptions } from '#shared/processors/contract/refund-options.ts';
import type { Random } from '../../support/random.ts';
import {
  accountNameOf,
  nameAtSandbox,
  type Owner,
  sellerCount,
  sellerOf,
  stripeAccounts,
} from './accounts.ts';

/** A payment and its refunds, fully determined by the seed. */
export interface Order {
  /** As the sandbox takes it; null for a payment that does not exist. */
  payment: Record<string, unknown> | null;
  /** When an unsettled sale settles; null for never. */
  settleAfterMs: number | null;
  creations: PlannedCreation[];
}

/** A refund that a client creates, and its further requests. */
export interface PlannedCreation {
  /** Identifies the refund in its metadata. */
  name: string;
  environment: Environment;
  body: Record<string, unknown>;
  /** The name of the account that has the payment; null for a payment that none has. */
  account: string | null;
  /** Since the order came in. */
  afterMs: number;
  prefer: string | null;
  /** False for a client without Idempotency-Key, which repeats only requests that were not carried out. */
  keyed: boolean;
  /** Copies of the request that are sent at the same time, to different APIs. */
  copies: number;
  /** When its client cancels it; null for never. */
  cancelAfterMs: number | null;
  /** When its client reads it; null for never. */
  readAfterMs: number | null;
}

type Processor = 'stripe' | 'braintree';

interface Payment extends Owner {
  id: string;
  processor: Processor;
  environment: Environment;
  amount: number;
  currency: string;
  /** A destination charge goes to a connected account, of which the platform keeps a fee. */
  transferTo: string | undefined;
  applicationFee: number | undefined;
}

/** How the refunds of one payment relate to its amount. */
type Kind = 'part' | 'parts' | 'too-much' | 'whole' | 'unsettled' | 'cancellable' | 'declined' | 'missing';

const kinds: readonly (readonly [weight: number, kind: Kind])[] = [
  [5, 'part'],
  [5, 'parts'],
  [4, 'too-much'],
  [2, 'whole'],
  [2, 'unsettled'],
  [5, 'cancellable'],
  [1, 'declined'],
  [1, 'missing'],
];

const currencies = ['usd', 'eur', 'jpy', 'kwd'];

/** The order of a number. */
export function planOrder(random: Random, number: number): Order {
  const kind = random.weigh(kinds);
  const processor = processorFor(kind, random);
  // A multiple of 100, because Stripe requires tens for three-decimal currencies, also for tenths and fifths.
  const amount = random.between(10, 90) * 100;
  const payment: Payment = {
    id: idFor(kind, processor, number, random),
    ...{ processor, amount, currency: random.pick(currencies) },
    ...(processor === 'stripe' ? placeAtStripe(random, number, amount) : placeAtBraintree(random)),
  };
  const amounts = amountsFor(kind, payment.amount, random);
  return {
    payment: kind === 'missing' ? null : { ...atSandbox(payment), ...stateFor(kind, processor, random) },
    settleAfterMs: kind === 'unsettled' && random.chance(0.4) ? random.between(0, 800) : null,
    creations: amounts.map((amount, index) =>
      planCreation(random, payment, kind, amount, `${number}.${index}`),
    ),
  };
}

function atSandbox(payment: Payment): Record<string, unknown> {
  return { ...payment, account: nameAtSandbox(payment.account, payment.processor) };
}

type Place = Pick<Payment, 'environment' | 'account' | 'connectedAccount' | 'transferTo' | 'applicationFee'>;

const nothingOfOthers = { connectedAccount: undefined, transferTo: undefined, applicationFee: undefined };

/** A charge of the platform, a destination charge, or a direct charge: of a connected account on record, or of a new one. */
function placeAtStripe(random: Random, number: number, amount: number): Place {
  const environment = random.pick(['test', 'live'] as const);
  const own = { environment, account: random.pick(stripeAccounts), ...nothingOfOthers };
  const seller = sellerOf(random.between(1, sellerCount));
  const fee = { applicationFee: amount / 10 };
  return random.weigh<Place>([
    [4, own],
    [2, { ...own, transferTo: seller.connectedAccount, ...fee }],
    [3, { ...own, ...seller, ...fee }],
    [1, { ...own, connectedAccount: `acct_new${number}` }],
  ]);
}

function placeAtBraintree(random: Random): Place {
  return { environment: random.pick(['test', 'live']), account: 'braintree', ...nothingOfOthers };
}

function processorFor(kind: Kind, random: Random): Processor {
  if (kind === 'unsettled') return 'braintree';
  return random.pick(['stripe', 'braintree']);
}

function idFor(kind: Kind, processor: Processor, number: number, random: Random): string {
  const word = kind === 'declined' || kind === 'missing' ? kind : 'chaos';
  if (processor === 'braintree') return `${word}-${number}`;
  return `${random.pick(['ch', 'pi'])}_${word}${number}`;
}

function stateFor(kind: Kind, processor: Processor, random: Random): Record<string, string> {
  if (kind === 'unsettled') return { status: random.pick(['submitted_for_settlement', 'authorized']) };
  // Stripe cancels only refunds that require action.
  return kind === 'cancellable' && processor === 'stripe' ? { paymentMethod: 'customer_balance' } : {};
}

function amountsFor(kind: Kind, amount: number, random: Random): number[] {
  switch (kind) {
    case 'parts':
      return Array.from({ length: random.between(2, 5) }, () => amount / 5);
    case 'too-much':
      return Array.from({ length: random.between(3, 5) }, () => amount * random.pick([0.4, 0.6]));
    case 'whole':
    case 'unsettled':
      return random.chance(0.3) ? [amount, amount] : [amount];
    case 'cancellable':
      return [amount / 2, amount / 2];
    default:
      return [amount / 10];
  }
}

const preferences = [null, 'respond-async', 'wait=1', 'wait=2'];

/** What a refund gives back besides the amount, of a payment that has it. */
function optionsFor(random: Random, { transferTo, applicationFee }: Payment): RefundOptions {
  const refundsFee = applicationFee !== undefined && random.chance(0.5);
  if (transferTo === undefined) return refundsFee ? { refundApplicationFee: true } : {};
  // The fee of a destination charge goes back only with its transfer.
  if (!random.chance(0.7)) return {};
  return { reverseTransfer: true, ...(refundsFee ? { refundApplicationFee: true } : {}) };
}

function planCreation(
  random: Random,
  payment: Payment,
  kind: Kind,
  amount: number,
  name: string,
): PlannedCreation {
  const { id, processor, environment, currency, connectedAccount } = payment;
  const keyed = random.chance(0.85);
  const cancelled = random.chance(kind === 'cancellable' ? 0.9 : 0.06);
  // Ids of Stripe are recognized by their form, those of Braintree are not.
  const named = processor === 'braintree' || random.chance(0.5);
  // Without its name, each account that may have the payment is asked.
  const account = random.chance(0.5) ? { account: payment.account } : {};
  const options = optionsFor(random, payment);
  return {
    name,
    environment,
    body: {
      transactionId: id,
      amount: Math.round(amount),
      currency,
      reason: 'other',
      metadata: { request: name },
      ...(named ? { processor } : {}),
      ...account,
      ...(connectedAccount === undefined ? {} : { connectedAccount }),
      ...(Object.keys(options).length === 0 ? {} : { options }),
    },
    account: kind === 'missing' ? null : accountNameOf(payment),
    afterMs: random.chance(0.7) ? 0 : random.between(0, 1_500),
    prefer: random.pick(preferences),
    keyed,
    copies: keyed && random.chance(0.15) ? 2 : 1,
    cancelAfterMs: cancelled ? random.between(0, 500) : null,
    readAfterMs: random.chance(0.25) ? random.between(0, 2_000) : null,
  };
}
