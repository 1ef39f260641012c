// How many decimals a currency has. Deliberately separate from the service's table, so that tests reveal a wrong exponent.

const DECIMALS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    'bif clp djf gnf isk jpy kmf krw pyg rwf ugx uyi vnd vuv xaf xof xpf'.split(' ').map((c) => [c, 0]),
  ),
  ...Object.fromEntries('bhd iqd jod kwd lyd omr tnd'.split(' ').map((c) => [c, 3])),
};

export function decimalsOf(currency: string): number {
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
