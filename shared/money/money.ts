/**
 * The active currencies of ISO 4217 (list one, without funds, metals and test codes), and those withdrawn ones that processors still
 * list, because old payments are refunded in them: by decimals of the minor unit.
 */
const codesByExponent: Record<number, string> = {
  0: 'bif clp djf gnf isk jpy kmf krw pyg rwf ugx vnd vuv xaf xof xpf',
  2:
    'aed afn all amd aoa ars aud awg azn bam bbd bdt bgn bmd bnd bob brl bsd btn bwp byn bzd cad cdf chf cny cop ' +
    'crc cup cve czk dkk dop dzd egp ern etb eur fjd fkp gbp gel ghs gip gmd gtq gyd hkd hnl htg huf idr ils inr ' +
    'irr jmd kes kgs khr kpw kyd kzt lak lbp lkr lrd lsl mad mdl mga mkd mmk mnt mop mru mur mvr mwk mxn myr mzn ' +
    'nad ngn nio nok npr nzd pab pen pgk php pkr pln qar ron rsd rub sar sbd scr sdg sek sgd shp sle sos srd ssp ' +
    'stn svc syp szl thb tjs tmt top try ttd twd tzs uah usd uyu uzs ved ves wst xcd xcg yer zar zmw zwg ' +
    'ang eek hrk ltl lvl mro sll std vef zmk zwd',
  3: 'bhd iqd jod kwd lyd omr tnd',
};

/** Decimals of the minor unit by lowercase code. */
const currencyExponents: Readonly<Record<string, number>> = Object.fromEntries(
  Object.entries(codesByExponent).flatMap(([exponent, codes]) =>
    codes.split(' ').map((code) => [code, Number(exponent)]),
  ),
);

/** The supported currencies, as lowercase ISO 4217 codes in alphabetical order. */
export const currencies: readonly string[] = Object.keys(currencyExponents).toSorted();

export function isCurrency(code: string): boolean {
  return Object.hasOwn(currencyExponents, code);
}

/**
 * The decimals of a currency's minor unit: 2 for usd, 0 for jpy, 3 for kwd.
 * @throws RangeError for a code that is not in ISO 4217.
 */
export function exponentOf(currency: string): number {
  const exponent = isCurrency(currency) ? currencyExponents[currency] : undefined;
  if (exponent === undefined) throw new RangeError(`Not an ISO 4217 currency: ${currency}`);
  return exponent;
}

/**
 * An amount of minor units as a decimal string in major units, with all decimals of the currency:
 * (1050n, 'usd') -> '10.50', (1050n, 'jpy') -> '1050', (1050n, 'kwd') -> '1.050'.
 */
export function toDecimal(amount: bigint, currency: string): string {
  const exponent = exponentOf(currency);
  const sign = amount < 0n ? '-' : '';
  const digits = (amount < 0n ? -amount : amount).toString().padStart(exponent + 1, '0');
  if (exponent === 0) return sign + digits;
  return `${sign}${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`;
}

/**
 * The inverse of `toDecimal`. Missing decimals count as zeros.
 * @throws RangeError when the text is not a decimal number or has more decimals than the currency.
 */
export function fromDecimal(text: string, currency: string): bigint {
  const exponent = exponentOf(currency);
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text);
  const [, sign = '', whole = '', decimals = ''] = match ?? [];
  const surplus = decimals.slice(exponent);
  if (match === null || /[^0]/.test(surplus)) {
    throw new RangeError(`Not an amount in ${currency}: ${text}`);
  }
  const minor = BigInt(whole + decimals.slice(0, exponent).padEnd(exponent, '0'));
  return sign === '-' ? -minor : minor;
}

/** An amount for people: '10.50 USD'. */
export function formatAmount(amount: bigint, currency: string): string {
  return `${toDecimal(amount, currency)} ${currency.toUpperCase()}`;
}
