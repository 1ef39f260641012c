import { fromDecimal } from '../../../shared/money/money.ts';

/** Money as somebody entered it: minor units, or what is wrong with it. */
export type EnteredAmount = { kind: 'amount'; amount: bigint } | { kind: 'problem'; problem: string };

const problem = (text: string): EnteredAmount => ({ kind: 'problem', problem: text });

/** Reads an amount in decimals of a currency, `10.50` for usd; not less than nothing. @param currency lowercase ISO 4217. */
export function readAmount(text: string, currency: string): EnteredAmount {
  const unreadable = problem('Enter a number in decimals of the currency, such as 10.50, or 1050 for JPY.');
  if (text.length > 20) return unreadable;
  try {
    const amount = fromDecimal(text, currency);
    if (amount < 0n) return problem('Must not be negative.');
    return amount > BigInt(Number.MAX_SAFE_INTEGER)
      ? problem('Is more than any payment.')
      : { kind: 'amount', amount };
  } catch {
    return unreadable;
  }
}
