// How many decimals a currency has. Deliberately separate from the service's table, so that tests reveal a wrong exponent.

const DECIMALS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    'bif clp djf gnf isk jpy kmf krw pyg rwf ugx uyi vnd vuv xaf xof xpf'.split(' ').map((c) => [c, 0]),
  ),
  ...Object.fromEntries('bhd iqd jod kwd lyd omr tnd'.split(' ').map((c) => [c, 3])),
};

// Stripe keeps two decimals for isk and ugx, which have none, and has none for mga.
const STRIPE_DECIMALS: Readonly<Record<string, number>> = { isk: 2, ugx: 2, mga: 0 };

function decimalsOf(currency: string): number {
  return DECIMALS[currency] ?? 2;
}

/** 1500 usd -> "15.00", 1500 jpy -> "1500", 1500 kwd -> "1.500". */
export function toDecimal(amountMinor: number, currency: string): string {
  const decimals = decimalsOf(currency);
  if (decimals === 0) return String(amountMinor);
  const digits = String(amountMinor).padStart(decimals + 1, '0');
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/** The reverse; null when the text is not a number or has more decimals than the currency. */
export function fromDecimal(text: string, currency: string): number | null {
  const match = /^(-?\d{1,12})(?:\.(\d+))?$/.exec(text);
  if (!match) return null;
  const decimals = decimalsOf(currency);
  const fraction = match[2] ?? '';
  if (fraction.length > decimals) return null;
  return Number(`${match[1]}${fraction.padEnd(decimals, '0')}`);
}

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
export function stripeCanExpress(amountMinor: number, currency: string): boolean {
  const units = toStripeUnits(amountMinor, currency);
  return fromStripeUnits(units, currency) === amountMinor && units % stripeStep(currency) === 0;
}

function stripeShift(currency: string): number {
  const iso = decimalsOf(currency);
  return (STRIPE_DECIMALS[currency] ?? iso) - iso;
}
