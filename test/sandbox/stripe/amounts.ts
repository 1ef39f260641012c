import { decimalsOf } from '../currency.ts';

// Stripe keeps two decimals for isk and ugx, which have none, and has none for mga.
const STRIPE_DECIMALS: Readonly<Record<string, number>> = { isk: 2, ugx: 2, mga: 0 };

/** Our minor units in the units Stripe counts this currency in. */
export function toStripeUnits(amountMinor: number, currency: string): number {
  return Math.round(amountMinor * 10 ** stripeShift(currency));
}

export function fromStripeUnits(amountStripe: number, currency: string): number {
  return Math.round(amountStripe / 10 ** stripeShift(currency));
}

/** Stripe amounts of this currency must be multiples of this. */
export function stripeStep(currency: string): number {
  if (decimalsOf(currency) === 3) return 10;
  return stripeShift(currency) > 0 ? 100 : 1;
}

/** Whether Stripe can express the amount at all. */
export function canExpress(amountMinor: number, currency: string): boolean {
  const units = toStripeUnits(amountMinor, currency);
  return fromStripeUnits(units, currency) === amountMinor && units % stripeStep(currency) === 0;
}

function stripeShift(currency: string): number {
  const iso = decimalsOf(currency);
  return (STRIPE_DECIMALS[currency] ?? iso) - iso;
}
