import { expect, test } from 'vitest';
import { readAmount } from '#api/dashboard/words/numbers.ts';

test.each([
  ['42.1', 'usd', 4_210n],
  ['42,10', 'eur', 4_210n],
  ['1.234,56', 'eur', 123_456n],
  ['1,234,567.8', 'usd', 123_456_780n],
  ["1'234.50", 'chf', 123_450n],
  ['1.234', 'kwd', 1_234n],
  ['1,234', 'jpy', 1_234n],
  ['1,234.567', 'kwd', 1_234_567n],
])('reads %s in %s as people write it', (text, currency, amount) => {
  expect(readAmount(text, currency)).toEqual({ kind: 'amount', amount });
});

test.each([
  ['1,234', 'usd'],
  ['1.234', 'eur'],
  ['1.000', 'eur'],
  ['12.000', 'jpy'],
  ['1,234', 'kwd'],
  ['1.234.56', 'eur'],
  ['12,3,45.6', 'usd'],
  ['12,50', 'jpy'],
])('refuses %s in %s, which may mean several amounts or none', (text, currency) => {
  expect(readAmount(text, currency).kind).toBe('problem');
});
