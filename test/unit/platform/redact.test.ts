import { describe, expect, test } from 'vitest';
import { errorBody } from '../../../api/http/error-handler.ts';
import { ServiceError } from '../../../shared/platform/errors.ts';
import { redact } from '../../../shared/platform/log.ts';
import { tooLittleLeft } from '../../../shared/refunds/model/refusals.ts';
import { conditionOf } from '../../../shared/refunds/queries/refund-filter.ts';
import { newCard } from '../../support/http/canaries.ts';

describe('card numbers', () => {
  test.each([13, 14, 15, 16, 17, 18, 19])('of %i digits are redacted', (length) => {
    for (let time = 0; time < 50; time++) {
      expect(redact(`card ${newCard('a card', length).text}.`)).toBe('card [digits redacted].');
    }
  });

  test.each([
    ['4242 4242 4242 4242', '[digits redacted]'],
    ['4242-4242-4242-4242', '[digits redacted]'],
    ['4242%204242%2B4242%2d4242', '[digits redacted]'],
    ['card=%204242%204242%204242%204242', 'card=%[digits redacted]'],
    ['%224242424242424242%22', '%[digits redacted]%22'],
    ['3782 822463 10005', '[digits redacted]'],
    ['x4242424242424242x', 'x[digits redacted]x'],
    ['4242 4242 4242 4242 12 2030 123', '[digits redacted]'],
    ['order 17 4242 4242 4242 4242', 'order [digits redacted]'],
    ['42424242424242421230123', '[digits redacted]'],
  ])('%s is redacted in groups', (text, masked) => {
    expect(redact(text)).toBe(masked);
  });
});

describe('other numbers stay as they are', () => {
  const filter = (amountFrom: bigint) =>
    conditionOf({ organizationId: 'org_1', environment: 'test' }, { currency: 'usd', amountFrom });

  test('in our own messages', () => {
    const refusal = refusalOf(() => filter(2n ** 60n));
    expect(errorBody(refusal).error.message).toBe(
      'amountFrom: must be from 0 to 9007199254740991 in the smallest currency unit.',
    );
    expect(errorBody(tooLittleLeft(9_007_199_254_740_991n, 'usd')).error.message).toBe(
      'amount: 9007199254740991 (90071992547409.91 USD) is left to refund; ask for that or less.',
    );
  });

  test.each([
    ['a time', 'closed on 2026-01-31T12:00:00.000Z'],
    ['milliseconds since 1970', 'at 1795341600000'],
    ['an id', 'ref_01kahw3v6me8fbw6r5k2jdz7qs and 018f4d2e-1111-7000-8000-123456789012'],
    ['a number with a wrong check digit', '4242424242424241'],
    ['fewer digits than a card has', '424242424242'],
  ])('%s', (_, text) => {
    expect(redact(text)).toBe(text);
  });
});

/** What a call is refused with. */
function refusalOf(call: () => unknown): ServiceError {
  try {
    call();
  } catch (error) {
    if (error instanceof ServiceError) return error;
  }
  throw new Error('not refused');
}
