import braintree from 'braintree';
import { describe, expect, test } from 'vitest';
import { outcomeOf, outcomeOfRefusal } from '#shared/processors/braintree/map-error.ts';
import { planRefund } from '#shared/processors/braintree/plan-refund.ts';
import {
  type BraintreeRefusal,
  mapStatus,
  readResult,
  readTransaction,
  toRefund,
} from '#shared/processors/braintree/replies.ts';
import { UnexpectedAnswerError } from '#shared/processors/contract/outcome.ts';
import { submissionFor } from '../../support/refunds/refund-records.ts';

/** The SDK's exceptions are plain errors with a type. */
const sdkError = (type: string, message = 'Words') => Object.assign(new Error(message), { type, name: type });

describe('the outcome of a Braintree exception', () => {
  test.each([
    ['authenticationError', { kind: 'misconfigured', scope: 'credentials' }],
    ['authorizationError', { kind: 'misconfigured', scope: 'ability' }],
    ['upgradeRequired', { kind: 'misconfigured', scope: 'credentials' }],
    ['notFoundError', { kind: 'refused', missing: true }],
    ['tooManyRequestsError', { kind: 'unavailable', cause: 'rate_limited', retryAfterMs: null }],
    ['serverError', { kind: 'unknown' }],
    ['serviceUnavailableError', { kind: 'unknown' }],
    ['gatewayTimeoutError', { kind: 'unknown' }],
    ['requestTimeoutError', { kind: 'unknown' }],
    ['aTypeToCome', { kind: 'unknown' }],
  ])('%s is %o', (type, outcome) => {
    expect(outcomeOf(sdkError(type))).toMatchObject(outcome);
    expect(outcomeOf(sdkError(type))).not.toHaveProperty('keyRefused');
  });

  test.each([
    ['Unexpected request error: Error: connect ECONNREFUSED 127.0.0.1:1', 'unavailable'],
    ['Unexpected request error: Error: connect ETIMEDOUT 10.0.0.1:443', 'unavailable'],
    ['Unexpected request error: Error: connect EHOSTUNREACH 10.0.0.1:443', 'unavailable'],
    ['Unexpected request error: Error: getaddrinfo ENOTFOUND nowhere', 'unavailable'],
    ['Unexpected request error: Error: getaddrinfo EAI_AGAIN nowhere', 'unavailable'],
    ['Unexpected request error: AggregateError', 'unavailable'],
    ['Unexpected request error: Error: read ECONNRESET', 'unknown'],
    ['Unexpected request error: Error: socket hang up', 'unknown'],
    ['Unexpected response error: Error: aborted', 'unknown'],
    ['Request timed out', 'unknown'],
    ['Unexpected HTTP response: 502', 'unknown'],
    ['Unexpected HTTP response: 409', 'unknown'],
  ])('"%s" is %s', (message, kind) => {
    expect(outcomeOf(sdkError('unexpectedError', message))).toMatchObject({ kind });
  });

  test('is unknown for an error without a type', () => {
    for (const error of [new TypeError('x'), new Error('x'), 'text', new UnexpectedAnswerError('x')]) {
      expect(outcomeOf(error)).toMatchObject({ kind: 'unknown' });
    }
  });
});

describe('the outcome of a refused request', () => {
  const refusal = (codes: string[], transaction: BraintreeRefusal['transaction'] = null) =>
    outcomeOfRefusal({
      message: 'In total.',
      errors: codes.map((code) => ({ code, message: `Words of ${code}.` })),
      transaction,
    });

  test.each([
    [['91506'], { kind: 'unavailable', failure: { code: 'unsettled' }, retryAfterMs: 3_600_000 }],
    [['91506', '81501'], { kind: 'refused', failure: { code: '91506' } }],
    [['91512'], { kind: 'refused', failure: { code: 'already_refunded' } }],
    [['91521'], { kind: 'refused', failure: { code: 'amount_too_large' } }],
    [['81501', '91521'], { kind: 'refused', failure: { code: 'amount_too_large' } }],
    [['91505'], { kind: 'refused', failure: { code: '91505', message: 'Words of 91505.' } }],
    [['915200'], { kind: 'refused', failure: { code: '915200' } }],
    [['91512', '915235'], { kind: 'unknown', keyRefused: true }],
    [[], { kind: 'refused', failure: { code: 'rejected', message: 'In total.' } }],
  ])('a refusal with the codes %j is %o', (codes, outcome) => {
    expect(refusal(codes)).toMatchObject(outcome);
  });

  /** Those of the SDK's list for transactions that are no plain refusals, with the page of developer.paypal.com/braintree that says so. */
  const meanings: Record<string, object> = {
    // reference/general/validation-errors/all: can be refunded once it has settled.
    '91506': { kind: 'unavailable', cause: 'payment_unsettled' },
    '91574': { kind: 'unavailable', cause: 'payment_unsettled' },
    '91512': { kind: 'refused', failure: { code: 'already_refunded' } },
    '91521': { kind: 'refused', failure: { code: 'amount_too_large' } },
    // One merchant account of many is suspended, pending, or does not support refunds.
    '91538': { kind: 'misconfigured', scope: 'object' },
    '91547': { kind: 'misconfigured', scope: 'object' },
    '91559': { kind: 'misconfigured', scope: 'object' },
    // The API request keys of the SDK's 3.37.
    '915231': { kind: 'misconfigured', scope: 'ability' },
    '915232': { kind: 'unknown', keyRefused: true },
    '915233': { kind: 'unknown' },
    '915234': { kind: 'unknown', keyRefused: true },
    '915235': { kind: 'unknown', keyRefused: true },
  };
  const { ValidationErrorCodes } = braintree as unknown as {
    ValidationErrorCodes: { Transaction: Record<string, unknown> };
  };
  const codes = Object.entries(ValidationErrorCodes.Transaction).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );

  test('names only codes that the SDK knows', () => {
    expect(codes.map(([, code]) => code)).toEqual(expect.arrayContaining(Object.keys(meanings)));
  });

  test.each(codes)('has a meaning for %s (%s)', (_name, code) => {
    const expected = meanings[code] ?? { kind: 'refused', failure: { code } };
    expect(refusal([code])).toMatchObject(expected);
    expect('keyRefused' in refusal([code])).toBe('keyRefused' in expected);
  });

  test('keeps the code and the words of the bank that declined a refund', () => {
    const declined = {
      status: 'processor_declined',
      processorResponseCode: '2004',
      processorResponseText: 'Expired Card',
    };
    for (const code of ['915200', '915201']) {
      expect(refusal([code], declined)).toMatchObject({
        kind: 'refused',
        failure: { code: '2004', message: 'Expired Card' },
      });
    }
  });

  test.each([
    ['settlement_declined', { code: '4004', message: 'Already Refunded' }],
    ['gateway_rejected', { code: 'fraud', message: 'In total.' }],
    ['failed', { code: 'failed', message: 'In total.' }],
  ])('does not use the approval of a refused refund that is %s', (status, failure) => {
    const approved = { processorResponseCode: '1002', processorResponseText: 'Processed' };
    const declined = {
      processorSettlementResponseCode: '4004',
      processorSettlementResponseText: 'Already Refunded',
      gatewayRejectionReason: 'fraud',
    };
    expect(refusal([], { status, ...approved, ...declined })).toMatchObject({ kind: 'refused', failure });
  });

  test('is unknown for a refusal with an open refund', () => {
    expect(refusal([], { status: 'submitted_for_settlement' })).toMatchObject({ kind: 'unknown' });
  });
});

const reply = (changes: Record<string, unknown> = {}) => ({
  id: 'sale1',
  type: 'sale',
  status: 'submitted_for_settlement',
  amount: '50.00',
  currencyIsoCode: 'USD',
  refundIds: [],
  ...changes,
});
const whole = submissionFor('sale1', { amount: 5_000n });

describe('the meaning of a status, for a refund and for the plan to refund a sale', () => {
  const states = {
    authorizing: ['open', 'refund'],
    authorized: ['open', 'void'],
    submitted_for_settlement: ['open', 'void'],
    settlement_pending: ['open', 'void'],
    settling: ['open', 'refund'],
    settlement_confirmed: ['open', 'refund'],
    settled: ['completed', 'refund'],
    voided: ['cancelled', 'answer'],
    processor_declined: ['failed', 'answer'],
    gateway_rejected: ['failed', 'answer'],
    failed: ['failed', 'answer'],
    settlement_declined: ['failed', 'answer'],
    authorization_expired: ['failed', 'answer'],
  };

  test.each(Object.entries(states))('%s', (status, [credit, plan]) => {
    expect(mapStatus(status)).toBe(credit);
    expect(planRefund(whole, readTransaction(reply({ status }))).kind).toBe(plan);
  });

  test('covers every status of the SDK; a new one is open', () => {
    const known = Object.values(braintree.Transaction.Status).filter((status) => typeof status === 'string');
    expect(Object.keys(states)).toEqual(expect.arrayContaining(known));
    expect(mapStatus('a word to come')).toBe('open');
  });
});

describe('the plan of a refund', () => {
  const won = { kind: 'chargeback', status: 'won' };
  const plan = (changes: Record<string, unknown>, submission = whole) =>
    planRefund(submission, readTransaction(reply(changes)));

  test.each([
    [{}, { kind: 'void' }],
    [{ status: 'a word to come' }, { kind: 'refund' }],
    [
      { amount: '49.99' },
      { kind: 'answer', result: { kind: 'rejected', failure: { code: 'amount_too_large' } } },
    ],
    [{ refundIds: ['credit1'] }, { kind: 'answer', result: { kind: 'unavailable' } }],
    [
      { amount: '50.01' },
      { kind: 'answer', result: { kind: 'unavailable', failure: { code: 'unsettled' } } },
    ],
    [
      { status: 'voided' },
      { kind: 'answer', result: { kind: 'rejected', failure: { code: 'already_refunded' } } },
    ],
    [{ status: 'processor_declined' }, { kind: 'answer', result: { kind: 'rejected' } }],
    [
      { status: 'settled', disputes: [{ kind: 'chargeback', status: 'lost' }] },
      { kind: 'answer', result: { kind: 'rejected', failure: { code: 'charge_disputed' } } },
    ],
    [
      { status: 'settled', disputes: [won, { kind: 'pre_arbitration', status: 'open' }] },
      { kind: 'answer', result: { kind: 'rejected', failure: { code: 'charge_disputed' } } },
    ],
    [{ status: 'settled', disputes: [won, { kind: 'retrieval', status: 'open' }] }, { kind: 'refund' }],
    [{ type: 'credit' }, { kind: 'answer', result: { kind: 'rejected' } }],
    [{ currencyIsoCode: 'EUR' }, { kind: 'answer', result: { kind: 'rejected' } }],
  ])('a sale with %o: %o', (changes, expected) => {
    expect(plan(changes)).toMatchObject(expected);
  });
});

describe('replies', () => {
  test('explain a failed refund with the code of its status', () => {
    const words = {
      ...{
        processorResponseCode: '2046',
        processorResponseText: 'Declined',
        gatewayRejectionReason: 'fraud',
      },
      ...{ processorSettlementResponseCode: '4001', processorSettlementResponseText: 'Settlement declined' },
    };
    const failureOf = (status: string) =>
      toRefund(
        readTransaction(reply({ ...words, type: 'credit', refundedTransactionId: 'sale1', status })),
        'sale1',
      ).failure;
    expect(failureOf('processor_declined')).toEqual({ code: '2046', message: 'Declined' });
    expect(failureOf('settlement_declined')).toEqual({ code: '4001', message: 'Settlement declined' });
    expect(failureOf('gateway_rejected')).toMatchObject({ code: 'fraud' });
    expect(failureOf('failed')).toEqual({ code: '2046', message: 'Declined' });
    expect(failureOf('authorization_expired')).toEqual({
      code: 'authorization_expired',
      message: 'Braintree reports the refund as authorization_expired.',
    });
    expect(failureOf('settled')).toBeNull();
  });

  test.each([[{ success: true }], [{ success: false }], [{}], [undefined], ['text']])(
    '%o is no result',
    (result) => {
      expect(() => readResult(result)).toThrow(UnexpectedAnswerError);
    },
  );
});
