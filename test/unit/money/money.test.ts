import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { currencyExponents } from '#shared/money/currencies.ts';
import { exponentOf, formatAmount, fromDecimal, isCurrency, toDecimal } from '#shared/money/money.ts';

const currencies = Object.keys(currencyExponents);
const anyCurrency = fc.constantFrom(...currencies);
const anyAmount = fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n });

describe('currencies', () => {
  test.each([
    [0, 'bif clp djf gnf isk jpy kmf krw pyg rwf ugx vnd vuv xaf xof xpf'],
    [2, 'usd eur gbp chf cad aud sek nok huf twd mga mru'],
    [3, 'bhd iqd jod kwd lyd omr tnd'],
  ])('amounts have %i decimals in %s', (exponent, codes) => {
    expect(codes.split(' ').map(exponentOf)).toEqual(codes.split(' ').map(() => exponent));
  });

  test('have three lowercase letters and 0, 2 or 3 decimals', () => {
    expect(currencies.length).toBeGreaterThan(150);
    for (const code of currencies) {
      expect(code).toMatch(/^[a-z]{3}$/);
      expect([0, 2, 3]).toContain(exponentOf(code));
    }
  });

  test.each(['USD', 'us', 'usdt', 'xxx', 'xau', '', 'constructor', '__proto__', 'toString'])(
    '%j is not a currency, and asking for its decimals fails loudly',
    (code) => {
      expect(isCurrency(code)).toBe(false);
      expect(() => exponentOf(code)).toThrow(RangeError);
      expect(() => toDecimal(1n, code)).toThrow(RangeError);
      expect(() => fromDecimal('1', code)).toThrow(RangeError);
    },
  );
});

describe('decimals', () => {
  test.each([
    [1050n, 'usd', '10.50'],
    [1050n, 'jpy', '1050'],
    [1050n, 'kwd', '1.050'],
    [5n, 'usd', '0.05'],
    [5n, 'kwd', '0.005'],
    [0n, 'usd', '0.00'],
    [0n, 'jpy', '0'],
    [-5n, 'usd', '-0.05'],
    [-7n, 'jpy', '-7'],
    [9007199254740993n, 'usd', '90071992547409.93'],
  ])('%s minor units of %s are %s, and back', (amount, currency, decimal) => {
    expect(toDecimal(amount, currency)).toBe(decimal);
    expect(fromDecimal(decimal, currency)).toBe(amount);
  });

  test.each(currencies)('convert every amount in %s back exactly', (currency) => {
    fc.assert(
      fc.property(anyAmount, (amount) => fromDecimal(toDecimal(amount, currency), currency) === amount),
      { numRuns: 50 },
    );
  });

  test('show all decimals of the currency', () => {
    fc.assert(
      fc.property(anyAmount, anyCurrency, (amount, currency) => {
        const decimals = toDecimal(amount, currency).split('.')[1] ?? '';
        expect(decimals).toHaveLength(exponentOf(currency));
      }),
    );
  });

  test.each([
    ['10', 'usd', 1000n],
    ['10.5', 'usd', 1050n],
    ['10.500', 'usd', 1050n],
    ['10.00', 'jpy', 10n],
    ['007.1', 'kwd', 7100n],
  ])('accept missing decimals and extra zeros: %s %s', (text, currency, amount) => {
    expect(fromDecimal(text, currency)).toBe(amount);
  });

  test('refuse an extra decimal in every currency', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 9 }), anyCurrency, (whole, digit, currency) => {
        const text = `${whole}.${'0'.repeat(exponentOf(currency))}${digit}`;
        expect(() => fromDecimal(text, currency)).toThrow(RangeError);
      }),
    );
  });

  test.each([
    '',
    ' ',
    '.5',
    '5.',
    '1,5',
    '1e3',
    '+1',
    '--1',
    '0x10',
    ' 1',
    '1 ',
    '1\n',
    '١',
    'NaN',
    'Infinity',
  ])('refuse %j', (text) => {
    expect(() => fromDecimal(text, 'usd')).toThrow(RangeError);
  });
});

test.each([
  [1050n, 'usd', '10.50 USD'],
  [1050n, 'jpy', '1050 JPY'],
  [1050n, 'kwd', '1.050 KWD'],
  [-1n, 'eur', '-0.01 EUR'],
])('%s minor units of %s read as %s', (amount, currency, text) => {
  expect(formatAmount(amount, currency)).toBe(text);
});
