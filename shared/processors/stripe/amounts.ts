import { exponentOf, formatAmount, isCurrency } from '../../money/money.ts';
import { UnexpectedAnswerError } from '../contract/outcome.ts';

/**
 * Stripe's decimals where they are not those of ISO 4217. Stripe charges no decimals in ariary; króna and shilling
 * have no decimals any more, and Stripe kept writing them with two.
 */
const ownExponents: Readonly<Record<string, number>> = { mga: 0, isk: 2, ugx: 2 };

/** Null when Stripe can express the amount, else why not. Amounts are never rounded to fit. */
export function amountProblem(amount: bigint, currency: string): string | null {
  if (!isCurrency(currency)) return `${currency} is not an ISO 4217 currency.`;
  const { step, shift } = unitOf(currency);
  const stripeAmount = shift >= 0 ? amount * 10n ** BigInt(shift) : amount / 10n ** BigInt(-shift);
  if (stripeAmount > BigInt(Number.MAX_SAFE_INTEGER)) {
    return `${formatAmount(amount, currency)} is more than Stripe can express.`;
  }
  if (amount % step === 0n) return null;
  return `Stripe takes ${currency.toUpperCase()} only in multiples of ${formatAmount(step, currency)}.`;
}

/**
 * Minor units as the number that Stripe's API takes.
 * @throws RangeError when `amountProblem` finds one.
 */
export function toStripeAmount(amount: bigint, currency: string): number {
  const problem = amountProblem(amount, currency);
  if (problem !== null) throw new RangeError(problem);
  const { shift } = unitOf(currency);
  return Number(shift >= 0 ? amount * 10n ** BigInt(shift) : amount / 10n ** BigInt(-shift));
}

/**
 * The number in a reply of Stripe's API as minor units.
 * @throws UnexpectedAnswerError for a currency nobody knows, or a fraction of its minor unit.
 */
export function fromStripeAmount(stripeAmount: number, currency: string): bigint {
  if (!isCurrency(currency)) {
    throw new UnexpectedAnswerError(`The processor answered in an unknown currency: ${currency}.`);
  }
  const { shift } = unitOf(currency);
  if (shift <= 0) return BigInt(stripeAmount) * 10n ** BigInt(-shift);
  const divisor = 10n ** BigInt(shift);
  if (BigInt(stripeAmount) % divisor !== 0n) {
    throw new UnexpectedAnswerError(
      `The processor answered with a fraction of the smallest unit of ${currency}.`,
    );
  }
  return BigInt(stripeAmount) / divisor;
}

/**
 * `shift`: the decimals that Stripe has more than ISO 4217. `step`: the minor units that an amount is a multiple of;
 * with three decimals, Stripe wants the last one to be zero, because card networks carry two.
 */
function unitOf(currency: string): { shift: number; step: bigint } {
  const exponent = exponentOf(currency);
  const shift = (ownExponents[currency] ?? exponent) - exponent;
  if (exponent === 3) return { shift, step: 10n };
  return { shift, step: shift < 0 ? 10n ** BigInt(-shift) : 1n };
}
