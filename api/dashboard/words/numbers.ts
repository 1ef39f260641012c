import { exponentOf, fromDecimal, toDecimal } from '#shared/money/money.ts';

/** A whole number: 12,345. */
export function inWhole(value: number): string {
  return value.toLocaleString('en-US');
}

/** A count of things: 1 row, 243 refunds. @param noun in the singular. */
export function countOf(count: number, noun: string): string {
  return `${inWhole(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** A share from 0 to 1 in percent: 86.1%. */
export function inPercent(share: number): string {
  return `${(share * 100).toFixed(share > 0 && share < 1 ? 1 : 0)}%`;
}

/** An amount of minor units: 416,751.97 USD. */
export function inMoney(amount: bigint, currency: string): string {
  const [whole = '', decimals] = toDecimal(amount, currency).split('.');
  const grouped = whole.replace(/\d(?=(\d{3})+$)/g, '$&,');
  return `${decimals === undefined ? grouped : `${grouped}.${decimals}`} ${currency.toUpperCase()}`;
}

/** An amount in major units for a chart axis: 417K. */
export function inShort(major: number): string {
  return major.toLocaleString('en-US', { notation: 'compact' });
}

/** The inverse of `inMajor`; exact up to trillions. */
export function fromMajor(major: number, currency: string): bigint {
  return BigInt(Math.round(major * 10 ** exponentOf(currency)));
}

/** An amount of minor units in major units, for a chart. Rounds large amounts. */
export function inMajor(amount: bigint, currency: string): number {
  return Number(amount) / 10 ** exponentOf(currency);
}

const units = [
  { short: 'd', name: 'day', ms: 86_400_000 },
  { short: 'h', name: 'hour', ms: 3_600_000 },
  { short: 'min', name: 'minute', ms: 60_000 },
  { short: 's', name: 'second', ms: 1_000 },
] as const;

/** A duration in its largest unit: 4 minutes. */
export function inLargestUnit(ms: number): string {
  const { name, ms: unitMs } = units.find((unit) => ms >= unit.ms) ?? units[3];
  const count = Math.max(0, Math.floor(ms / unitMs));
  return countOf(count, name);
}

/** A duration in its two largest units: 1 h 7 min. */
export function inTime(ms: number): string {
  const first = units.findIndex((unit) => ms >= unit.ms);
  const [unit, below] = [units[first], units[first + 1]];
  if (unit === undefined) return '< 1 s';
  const count = Math.floor(ms / unit.ms);
  const rest = below === undefined ? 0 : Math.floor((ms % unit.ms) / below.ms);
  return rest === 0 || below === undefined
    ? `${count} ${unit.short}`
    : `${count} ${unit.short} ${rest} ${below.short}`;
}

/** A day: 3 December 2026. @param day `YYYY-MM-DD`. */
export function inDay(day: string): string {
  return new Date(day).toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
}

/** A submitted amount in minor units, or what is wrong with it. */
export type EnteredAmount = { kind: 'amount'; amount: bigint } | { kind: 'problem'; problem: string };

const problem = (text: string): EnteredAmount => ({ kind: 'problem', problem: text });

/** With thousands separators or a decimal comma: `1.234,56`, `1,234.56`, `42,10`. One separator before three digits is ambiguous. */
const asWritten = /^(\d{1,3}(?:([.,' ])\d{3})(?:\2\d{3})*(?!\2)|\d+)([.,])(\d{1,2})$/;

/** What was entered, without thousands separators and with a decimal point. @throws RangeError for what is no amount. */
function decimalFrom(text: string, currency: string): string {
  const [, whole, , , decimals] = asWritten.exec(text) ?? [];
  if (whole !== undefined) return `${whole.replace(/\D/g, '')}.${decimals}`;
  // Commas stay out where the pages show the amount like this: `1,234` in JPY. In USD it could also be 1.234.
  const ungrouped = text.replaceAll(',', '');
  return inMoney(fromDecimal(ungrouped, currency), currency).startsWith(`${text} `) ? ungrouped : text;
}

/** Reads a decimal amount as people write it, `10.50` for usd. @param currency lowercase ISO 4217. */
export function readAmount(text: string, currency: string): EnteredAmount {
  const unreadable = problem('Enter a number in decimals of the currency, such as 10.50, or 1050 for JPY.');
  if (text.length > 20) return unreadable;
  try {
    const decimal = decimalFrom(text, currency);
    // Three decimals in other currencies may be meant as thousands: `1.000`.
    if (/\.\d{3}$/.test(decimal) && exponentOf(currency) !== 3) return unreadable;
    const amount = fromDecimal(decimal, currency);
    if (amount < 0n) return problem('Must not be negative.');
    return amount > BigInt(Number.MAX_SAFE_INTEGER)
      ? problem('Is more than any payment.')
      : { kind: 'amount', amount };
  } catch {
    return unreadable;
  }
}
