import type { Environment } from '#shared/platform/environment.ts';
import type { Random } from '../../support/random.ts';

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

interface Payment {
  id: string;
  processor: Processor;
  environment: Environment;
  amount: number;
  currency: string;
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
  const payment: Payment = {
    id: idFor(kind, processor, number, random),
    processor,
    environment: random.pick(['test', 'live']),
    // A multiple of 100, because Stripe requires tens for three-decimal currencies, also for tenths and fifths.
    amount: random.between(10, 90) * 100,
    currency: random.pick(currencies),
  };
  const amounts = amountsFor(kind, payment.amount, random);
  return {
    payment: kind === 'missing' ? null : { ...payment, ...stateFor(kind, processor, random) },
    settleAfterMs: kind === 'unsettled' && random.chance(0.4) ? random.between(0, 800) : null,
    creations: amounts.map((amount, index) =>
      planCreation(random, payment, kind, amount, `${number}.${index}`),
    ),
  };
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

function planCreation(
  random: Random,
  { id, processor, environment, currency }: Payment,
  kind: Kind,
  amount: number,
  name: string,
): PlannedCreation {
  const keyed = random.chance(0.85);
  const cancelled = random.chance(kind === 'cancellable' ? 0.9 : 0.06);
  // Ids of Stripe are recognized by their form, those of Braintree are not.
  const named = processor === 'braintree' || random.chance(0.5);
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
    },
    afterMs: random.chance(0.7) ? 0 : random.between(0, 1_500),
    prefer: random.pick(preferences),
    keyed,
    copies: keyed && random.chance(0.15) ? 2 : 1,
    cancelAfterMs: cancelled ? random.between(0, 500) : null,
    readAfterMs: random.chance(0.25) ? random.between(0, 2_000) : null,
  };
}
