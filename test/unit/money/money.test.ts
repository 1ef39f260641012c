import fc from 'fast-check';
import { expect, test } from 'vitest';
import { currencies, exponentOf, fromDecimal, isCurrency, toDecimal } from '#shared/money/money.ts';

test.each([
  [0, 'bif clp djf gnf isk jpy kmf krw pyg rwf ugx vnd vuv xaf xof xpf'],
  [2, 'usd eur gbp chf cad aud sek nok huf twd mga mru ved'],
  [3, 'bhd iqd jod kwd lyd omr tnd'],
])('amounts have %i decimals in %s', (exponent, codes) => {
  expect(codes.split(' ').map(exponentOf)).toEqual(codes.split(' ').map(() => exponent));
});

test.each(['USD', 'us', 'xxx', 'xau', '', 'constructor', '__proto__'])(
  '%j is not a currency, and asking for its decimals fails loudly',
  (code) => {
    expect(isCurrency(code)).toBe(false);
    expect(() => exponentOf(code)).toThrow(RangeError);
  },
);

test.each([
  [1050n, 'usd', '10.50'],
  [1050n, 'jpy', '1050'],
  [5n, 'kwd', '0.005'],
  [0n, 'usd', '0.00'],
  [-5n, 'usd', '-0.05'],
  [9007199254740993n, 'usd', '90071992547409.93'],
])('%s minor units of %s are %s', (amount, currency, decimal) => {
  expect(toDecimal(amount, currency)).toBe(decimal);
});

test('amounts in every currency convert back exactly', () => {
  const anyAmount = fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n });
  fc.assert(
    fc.property(
      anyAmount,
      fc.constantFrom(...currencies),
      (amount, currency) => fromDecimal(toDecimal(amount, currency), currency) === amount,
    ),
    { numRuns: 2_000 },
  );
});

test.each([
  ['10', 'usd', 1000n],
  ['10.5', 'usd', 1050n],
  ['10.500', 'usd', 1050n],
  ['10.00', 'jpy', 10n],
])('decimals may lack places or have zeros more: %s %s', (text, currency, amount) => {
  expect(fromDecimal(text, currency)).toBe(amount);
});

test.each(['', ' ', '.5', '5.', '1,5', '1e3', '+1', '--1', '0x10', ' 1', '1\n', '١', 'NaN', '1.001'])(
  '%j is no amount of usd',
  (text) => {
    expect(() => fromDecimal(text, 'usd')).toThrow(RangeError);
    expect(() => fromDecimal('1.1', 'jpy')).toThrow(RangeError);
  },
);
