import fc from 'fast-check';
import Stripe from 'stripe';
import { describe, expect, test } from 'vitest';
import { currencies } from '#shared/money/money.ts';
import { UnexpectedAnswerError } from '#shared/processors/contract/outcome.ts';
import { amountProblem, fromStripeAmount, toStripeAmount } from '#shared/processors/stripe/amounts.ts';
import { outcomeOf } from '#shared/processors/stripe/map-error.ts';
import { mapStatus } from '#shared/processors/stripe/replies.ts';

const { errors } = Stripe;

/** The error that the SDK makes of an HTTP answer. */
function httpError(statusCode: number, raw: Record<string, unknown>, headers: Record<string, string> = {}) {
  return errors.StripeError.generate({ message: 'No.', ...raw, statusCode, headers } as never);
}

/** The error that the SDK makes of a failed fetch. */
function networkError(cause: Record<string, unknown>, message = 'An error occurred with our connection.') {
  const detail = Object.assign(new TypeError('fetch failed'), { cause });
  return new errors.StripeConnectionError({ message, detail } as never);
}

describe('the outcome of a Stripe error', () => {
  test.each([
    [401, {}, { kind: 'misconfigured', scope: 'credentials' }],
    [403, {}, { kind: 'misconfigured', scope: 'object' }],
    [
      402,
      { type: 'card_error', code: 'card_declined' },
      { kind: 'refused', failure: { code: 'card_declined' } },
    ],
    [404, { code: 'resource_missing' }, { kind: 'refused', missing: true }],
    [400, { code: 'resource_missing' }, { kind: 'refused', missing: true }],
    [404, {}, { kind: 'refused', missing: false }],
    [400, { code: 'charge_already_refunded' }, { kind: 'refused', failure: { code: 'already_refunded' } }],
    [400, { code: 'charge_disputed' }, { kind: 'refused', failure: { code: 'charge_disputed' } }],
    [400, { code: 'refund_disputed_payment' }, { kind: 'refused', failure: { code: 'charge_disputed' } }],
    [400, { param: 'amount' }, { kind: 'refused', failure: { code: 'amount_too_large' } }],
    [
      400,
      { param: 'amount', code: 'parameter_invalid_integer' },
      { kind: 'refused', failure: { code: 'parameter_invalid_integer' } },
    ],
    [429, {}, { kind: 'unavailable', cause: 'rate_limited', retryAfterMs: null }],
    [400, { type: 'idempotency_error' }, { kind: 'unknown', keyRefused: true }],
    [409, { type: 'idempotency_error', code: 'idempotency_key_in_use' }, { kind: 'unknown' }],
    [424, { type: 'api_error' }, { kind: 'unknown', serverError: true }],
    [500, { type: 'api_error' }, { kind: 'unknown', serverError: true }],
    [502, { type: 'api_error' }, { kind: 'unknown', serverError: true }],
    [503, { type: 'api_error' }, { kind: 'unknown', serverError: true }],
    [504, { type: 'api_error' }, { kind: 'unknown', serverError: true }],
  ])('%i %o is %o', (statusCode, raw, outcome) => {
    const answer = outcomeOf(httpError(statusCode, raw));
    expect(answer).toMatchObject(outcome);
    expect('keyRefused' in answer).toBe('keyRefused' in outcome);
    expect('serverError' in answer).toBe('serverError' in outcome);
  });

  test.each([
    ['ECONNREFUSED', { kind: 'unavailable', cause: 'unreachable' }],
    ['ENOTFOUND', { kind: 'unavailable' }],
    ['EAI_AGAIN', { kind: 'unavailable' }],
    ['ETIMEDOUT', { kind: 'unknown', failure: { code: 'timeout' } }],
    ['ETIMEDOUT', { kind: 'unavailable' }, 'connect'],
    ['EPIPE', { kind: 'unknown', failure: { code: 'connection_error' } }],
    ['ECONNRESET', { kind: 'unknown' }],
    ['CERT_HAS_EXPIRED', { kind: 'unknown' }],
  ])('of a connection that ends in %s is %o', (code, outcome, syscall?: string) => {
    const answer = outcomeOf(networkError({ code, syscall }));
    expect(answer).toMatchObject(outcome);
    expect(answer).not.toHaveProperty('keyRefused');
  });

  test('is unknown for an unexpected error', () => {
    for (const error of [new TypeError('x'), 'text', null, new errors.StripeAPIError({} as never)]) {
      expect(outcomeOf(error)).toMatchObject({ kind: 'unknown' });
    }
    expect(outcomeOf(new UnexpectedAnswerError('x'))).toMatchObject({ kind: 'unknown' });
  });

  test('reads Retry-After in seconds and as a date', () => {
    const answered = (value: string) => outcomeOf(httpError(429, {}, { 'retry-after': value }));
    expect(answered('7')).toMatchObject({ retryAfterMs: 7_000 });
    expect(answered('soon')).toMatchObject({ retryAfterMs: null });
    expect(answered('')).toMatchObject({ retryAfterMs: null });
    expect(answered('Wed, 21 Oct 2015 07:28:00 GMT')).toMatchObject({ retryAfterMs: 0 });
    const dated = answered(new Date(Date.now() + 60_000).toUTCString());
    if (dated.kind !== 'unavailable') throw new Error(dated.kind);
    expect(dated.retryAfterMs).toBeGreaterThan(50_000);
    expect(dated.retryAfterMs).toBeLessThanOrEqual(60_000);
  });
});

describe('the state of a Stripe refund', () => {
  test.each([
    ['pending', 'open'],
    ['requires_action', 'open'],
    ['succeeded', 'completed'],
    ['failed', 'failed'],
    ['canceled', 'cancelled'],
    ['a word to come', 'open'],
    [null, 'open'],
  ])('%s is %s', (status, state) => {
    expect(mapStatus(status)).toBe(state);
  });
});

describe('amounts for Stripe', () => {
  test.each([
    ['usd', 1_050n, 1_050],
    ['jpy', 1_050n, 1_050],
    ['isk', 15n, 1_500],
    ['ugx', 15n, 1_500],
    ['mga', 1_500n, 15],
    ['huf', 1_500n, 1_500],
    ['kwd', 1_050n, 1_050],
    ['bhd', 10n, 10],
  ])('%s: %d minor units are sent as %d', (currency, amount, stripeAmount) => {
    expect(amountProblem(amount, currency)).toBeNull();
    expect(toStripeAmount(amount, currency)).toBe(stripeAmount);
    expect(fromStripeAmount(stripeAmount, currency)).toBe(amount);
  });

  test.each([
    ['kwd', 1_051n, '0.010 KWD'],
    ['tnd', 5n, '0.010 TND'],
    ['mga', 1_550n, '1.00 MGA'],
  ])('%s: %d minor units are refused, not rounded', (currency, amount, step) => {
    expect(amountProblem(amount, currency)).toContain(step);
    expect(() => toStripeAmount(amount, currency)).toThrow(RangeError);
  });

  test('refuse an amount that is not a safe integer', () => {
    expect(amountProblem(2n ** 53n, 'usd')).toMatch(/more than/);
    expect(amountProblem(2n ** 53n / 100n + 1n, 'isk')).toMatch(/more than/);
  });

  test('refuse a reply with a fraction of the smallest unit', () => {
    expect(() => fromStripeAmount(1_550, 'isk')).toThrow(UnexpectedAnswerError);
    expect(() => fromStripeAmount(1_550, 'zzz')).toThrow(UnexpectedAnswerError);
  });

  test('convert every amount of every currency back exactly, or refuse it', () => {
    const currency = fc.constantFrom(...currencies);
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 2n ** 60n }), currency, (amount, code) => {
        if (amountProblem(amount, code) !== null) return;
        const stripeAmount = toStripeAmount(amount, code);
        expect(Number.isSafeInteger(stripeAmount)).toBe(true);
        expect(fromStripeAmount(stripeAmount, code)).toBe(amount);
      }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 99_999 }), currency, (units, code) => {
        expect(amountProblem(BigInt(units) * 1_000n, code)).toBeNull();
      }),
    );
  });
});
