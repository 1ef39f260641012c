import { exponentOf, formatAmount, isCurrency } from '../../money/money.ts';
import { UnexpectedAnswerError } from '../contract/outcome.ts';

/** Where Stripe's decimals differ from ISO 4217: none for the ariary, two for the króna and the Ugandan shilling. */
const ownExponents: Readonly<Record<string, number>> = { mga: 0, isk: 2, ugx: 2 };

/** Why Stripe cannot take the amount; null when it can. Amounts are never rounded. */
export function amountProblem(amount: bigint, currency: string): string | null {
  if (!isCurrency(currency)) return `${currency} is not an ISO 4217 currency.`;
  const { step, shift } = unitOf(currency);
  const stripeAmount = shift >= 0 ? amount * 10n ** BigInt(shift) : amount / 10n ** BigInt(-shift);
  if (stripeAmount > BigInt(Number.MAX_SAFE_INTEGER)) {
    return `${formatAmount(amount, currency)} is more than Stripe accepts.`;
  }
  if (amount % step === 0n) return null;
  return `Stripe takes ${currency.toUpperCase()} only in multiples of ${formatAmount(step, currency)}.`;
}

/**
 * Converts minor units to the number in Stripe's API.
 * @throws RangeError when `amountProblem` finds one.
 */
export function toStripeAmount(amount: bigint, currency: string): number {
  const problem = amountProblem(amount, currency);
  if (problem !== null) throw new RangeError(problem);
  const { shift } = unitOf(currency);
  return Number(shift >= 0 ? amount * 10n ** BigInt(shift) : amount / 10n ** BigInt(-shift));
}

/**
 * Converts a number from Stripe's API to minor units.
 * @throws UnexpectedAnswerError for an unknown currency, or a fraction of its minor unit.
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
 * `shift`: how many decimals Stripe has more than ISO 4217. `step`: amounts have to be a multiple of it, in minor units. With
 * three decimals the last one has to be zero, because card networks support two.
 */
function unitOf(currency: string): { shift: number; step: bigint } {
  const exponent = exponentOf(currency);
  const shift = (ownExponents[currency] ?? exponent) - exponent;
  if (exponent === 3) return { shift, step: 10n };
  return { shift, step: shift < 0 ? 10n ** BigInt(-shift) : 1n };
}
