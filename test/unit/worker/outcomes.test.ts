import { describe, expect, test } from 'vitest';
import type { Settings } from '#shared/platform/config.ts';
import type { ProcessorRefund, UnavailableCause } from '#shared/processors/contract/processor.ts';
import type { StepOutcome } from '#shared/refunds/lifecycle/record.ts';
import type { Claim } from '#shared/refunds/lifecycle/statements.ts';
import {
  accepted,
  accountUnusable,
  cancelledUnsent,
  credentialsRefused,
  failed,
  type OutcomeContext,
  paymentStored,
  settled,
  stateRead,
} from '#worker/advance/outcomes.ts';
import {
  absent,
  cancelUnconfirmed,
  stateUnread,
  stepFailed,
  unanswered,
  unavailable,
  unknown,
} from '#worker/advance/unanswered.ts';

const minutes = 60_000;
const days = 24 * 60 * minutes;
const now = new Date('2026-11-24T12:00:00Z');
const inAnHour = new Date('2026-11-24T13:00:00Z');
const ago = (ms: number) => new Date(now.getTime() - ms);

/** The middle of the random pauses: 550 ms after the first failure, 10 s until settlement is checked first. */
const settings = {
  PROCESSOR_TIMEOUT_MS: 20_000,
  RETRY_BASE_MS: 1_000,
  RETRY_CAP_MS: 60_000,
  RETRY_DEADLINE_MS: 3 * days,
  FLAG_UNKNOWN_AFTER_MS: days,
  SETTLEMENT_BASE_MS: 10_000,
  SETTLEMENT_CAP_MS: 60 * minutes,
  MISCONFIGURED_RETRY_MS: 15 * minutes,
} as Settings;

interface Given {
  step?: Claim['step'];
  refund?: Partial<Claim['refund']>;
  work?: Partial<Claim['work']>;
}

const asked = {
  status: 'processing',
  processor: 'stripe',
  amount: 500n,
  currency: 'usd',
  externalRefundId: null,
  processorStatus: null,
  arrival: null,
  createdAt: now,
};

const untroubled = {
  attemptNumber: 1,
  idempotencyKeyVersion: 1,
  consecutiveFailures: 0,
  retryingSince: null,
  unknownSince: null,
  approvalRequestedAt: null,
  attemptStartedAt: null,
  flagReason: null,
  flagFacts: null,
  flaggedAt: null,
};

function given({ step = 'send', refund = {}, work = {} }: Given = {}): OutcomeContext {
  const claim = { step, now, refund: { ...asked, ...refund }, work: { ...untroubled, ...work } } as Claim;
  return { claim, settings, random: () => 0.5 };
}

const there: ProcessorRefund = {
  id: 're_1',
  refundId: 'ref_1',
  requestDigest: null,
  amount: 500n,
  currency: 'usd',
  state: 'open',
  processorStatus: 'pending',
  failure: null,
};

const completedThere = { ...there, state: 'completed', processorStatus: 'succeeded' } as const;
const failedThere = { ...there, state: 'failed' } as const;
const no = { code: 'credentials_unusable', message: 'No.' };
const refusal = { scope: 'credentials', failure: no } as const;
const outage = { code: 'timeout', message: 'No.' };
const unsettled = { code: 'unsettled', message: 'No.' };
const unreadable = { code: 'unexpected_answer', message: 'No.' };

const again = { consecutiveFailures: 1, dueInMs: 550 };
const afterEnd = { dueInMs: null, waitingFor: null, isKnown: true, endsCancel: true, flag: null };
const seen = { externalRefundId: 're_1', processorStatus: 'pending' };
const succeeded = { externalRefundId: 're_1', processorStatus: 'succeeded' };
const move = (type: string, detail: object, to = 'processing') => ({ to, type, detail });
const unansweredFor = (
  failure = outage,
  cause: UnavailableCause = 'unreachable',
  retryAfterMs: number | null = null,
) => ({ kind: 'unavailable', cause, failure, retryAfterMs }) as const;

/** Tried again. */
const retried = (type: string, failure: object, more = {}) => ({
  ...again,
  moves: [move(type, failure)],
  retrying: true,
  ...more,
});
const notSent = (failure: object, more = {}) =>
  retried('attempt.unavailable', failure, { isKnown: true, waitingFor: 'processor_unreachable', ...more });

const failedWith = (code: string, message: string, more = {}) => ({
  ...afterEnd,
  moves: [move('refund.failed', { code, message }, 'failed')],
  change: { failureCode: code, failureMessage: message },
  ...more,
});
const givenUp = (what: string, more = {}) =>
  failedWith('processor_unavailable', `${what} before the retry deadline. Last error: No.`, more);

const acceptedAs = (type: string, flag: object | null) => ({
  ...{ moves: [move(type, seen)], change: seen, attempt: { outcome: 'accepted' } },
  ...{ dueInMs: 10_000, waitingFor: 'settlement', consecutiveFailures: 0, retrying: false },
  ...{ isKnown: true, flag },
});
const completed = move('refund.completed', succeeded, 'completed');
const progressed = (change: object, more = {}) => ({
  ...{ moves: [move('settlement.progress', { processorStatus: 'pending' })], change },
  ...{ dueInMs: 10_000, waitingFor: 'settlement', consecutiveFailures: 1, retrying: false, flag: null },
  ...more,
});
const refusedCancel = {
  ...{ moves: [move('cancel.refused', no)], dueInMs: 10_000, waitingFor: 'settlement' },
  ...{ endsCancel: true, consecutiveFailures: 0, retrying: false },
};

/** Flagged, and tried again slowly. */
const flaggedAs = (type: string, waitingFor: string, flag: object, more = {}) => ({
  ...{ moves: [move(type, { flag })], dueInMs: 15 * minutes, waitingFor, consecutiveFailures: 1, flag },
  ...more,
});
const flagFor = (reason: string) => ({ reason, facts: { message: 'No.' } });
const unusable = flagFor('account_unusable');
const expectedFacts = { status: 'processing', expectedAmount: 500, expectedCurrency: 'usd' };
const differs = {
  reason: 'amount_differs',
  facts: { ...seen, ...expectedFacts, amount: 499, currency: 'usd' },
};

type Row = [answer: string, outcomeOf: () => StepOutcome, expected: object];

describe('an answer', () => {
  const pending = { refund: { processorStatus: 'pending' } };
  const flagged = { flagReason: 'no_answer', flagFacts: {} };
  const arrival = { kind: 'credit', reference: '42', referenceType: null } as const;
  const short = { ...there, waitsFor: 'insufficient_balance' } as const;
  const isShort = {
    reason: 'insufficient_balance',
    facts: { ...seen, ...expectedFacts, amount: 500, currency: 'usd' },
  };
  const overdue = { ...there, dueBy: now };

  test.each<Row>([
    ['open', () => accepted(given(), 'attempt.accepted', there), acceptedAs('attempt.accepted', null)],
    [
      'completed with another amount',
      () => accepted(given(), 'lookup.found', { ...there, state: 'completed', amount: 499n }),
      acceptedAs('lookup.found', differs),
    ],
    [
      'completed in another currency',
      () => accepted(given(), 'lookup.found', { ...there, state: 'completed', currency: 'eur' }),
      acceptedAs('lookup.found', { ...differs, facts: { ...differs.facts, amount: 500, currency: 'eur' } }),
    ],
    [
      'failed at once, with another amount',
      () => accepted(given(), 'attempt.accepted', { ...failedThere, amount: 499n }),
      {
        ...settled(failedThere),
        change: { ...seen, ...settled(failedThere).change },
        attempt: { outcome: 'accepted' },
      },
    ],
    [
      'completed at once',
      () => accepted(given(), 'attempt.accepted', completedThere),
      { ...afterEnd, moves: [completed], change: succeeded, attempt: { outcome: 'accepted' } },
    ],
    [
      'completed, looked up',
      () => accepted(given(), 'lookup.found', completedThere),
      {
        ...{ ...afterEnd, moves: [move('lookup.found', succeeded), completed] },
        ...{ change: succeeded, attempt: { outcome: 'accepted' } },
      },
    ],
    [
      'failed with a reason',
      () => settled({ ...failedThere, failure: no }),
      {
        ...{ ...afterEnd, moves: [move('refund.failed', { ...seen, ...no }, 'failed')] },
        change: { processorStatus: 'pending', failureCode: no.code, failureMessage: 'No.' },
      },
    ],
    [
      'failed without one',
      () => settled(failedThere),
      {
        ...{ ...afterEnd, moves: [move('refund.failed', seen, 'failed')] },
        change: {
          processorStatus: 'pending',
          failureCode: 'processor_failed',
          failureMessage: 'The processor reports the refund as pending.',
        },
      },
    ],
    [
      'refused',
      () => failed(no, 'rejected'),
      failedWith('credentials_unusable', 'No.', { attempt: { outcome: 'rejected' } }),
    ],
    [
      'not asked for, because it is cancelled',
      () => cancelledUnsent(),
      { ...afterEnd, moves: [move('refund.cancelled', { sent: false }, 'cancelled')], unlessResync: true },
    ],
    [
      'the status as before',
      () => stateRead(given(pending), there),
      {
        ...{ moves: [], change: {}, dueInMs: 10_000, consecutiveFailures: 1, retrying: false },
        waitingFor: 'settlement',
      },
    ],
    [
      'the status as before, of a flagged refund',
      () => stateRead(given({ ...pending, work: { ...flagged, consecutiveFailures: 1 } }), there),
      progressed({ processorStatus: 'pending' }, { dueInMs: 20_000, consecutiveFailures: 2 }),
    ],
    [
      "the bank's reference",
      () => stateRead(given(pending), { ...there, arrival }),
      progressed({ processorStatus: 'pending', arrival }),
    ],
    [
      'accepted, and held for want of balance',
      () => accepted(given(), 'attempt.accepted', short),
      { ...acceptedAs('attempt.accepted', isShort), waitingFor: 'insufficient_balance' },
    ],
    [
      'held for want of balance, as before',
      () =>
        stateRead(
          given({ ...pending, work: { flagReason: isShort.reason, flagFacts: isShort.facts } }),
          short,
        ),
      {
        ...{ moves: [], change: {}, dueInMs: 10_000, consecutiveFailures: 1, retrying: false },
        waitingFor: 'insufficient_balance',
      },
    ],
    [
      'open for longer than such refunds take',
      () => stateRead(given(pending), overdue),
      {
        ...progressed({ processorStatus: 'pending' }),
        moves: [
          move('settlement.progress', {
            processorStatus: 'pending',
            flag: { ...isShort, reason: 'overdue' },
          }),
        ],
        flag: { ...isShort, reason: 'overdue' },
      },
    ],
    [
      'waiting for the customer',
      () => stateRead(given(pending), { ...there, waitsFor: 'customer_action', dueBy: inAnHour }),
      {
        ...{ moves: [], change: {}, dueInMs: 10_000, consecutiveFailures: 1, retrying: false },
        ...{ waitingFor: 'customer_action', waitingUntil: inAnHour },
      },
    ],
    [
      'an amount that differs',
      () => stateRead(given(), { ...there, amount: 499n }),
      flaggedAs('settlement.flagged', 'settlement', differs),
    ],
    [
      'an amount that differs, once more',
      () =>
        stateRead(given({ work: { flagReason: 'amount_differs', flagFacts: differs.facts } }), {
          ...there,
          amount: 499n,
        }),
      { moves: [], dueInMs: 15 * minutes, waitingFor: 'settlement', consecutiveFailures: 1 },
    ],
    [
      'failed with another amount',
      () => stateRead(given(), { ...failedThere, amount: 499n }),
      settled(failedThere),
    ],
    ['completed', () => stateRead(given(), completedThere), settled(completedThere)],
    [
      'refused credentials',
      () => credentialsRefused(given(), refusal),
      flaggedAs('attempt.misconfigured', 'credentials', unusable, {
        ...{ attempt: { outcome: 'misconfigured', keySpent: true }, isKnown: true, retrying: false },
      }),
    ],
    [
      'refused credentials, after an attempt of unknown outcome with the same key',
      () => credentialsRefused(given({ work: { attemptNumber: 2 } }), refusal),
      flaggedAs('attempt.misconfigured', 'credentials', unusable, {
        ...{ attempt: { outcome: 'misconfigured', keySpent: false }, isKnown: true, retrying: false },
      }),
    ],
    [
      'none to a send, because the credentials cannot be used',
      () => accountUnusable(given(), 'No.'),
      credentialsRefused(given(), refusal),
    ],
    [
      'a refusal of this payment alone',
      () => credentialsRefused(given(), { ...refusal, scope: 'object' }),
      flaggedAs('attempt.misconfigured', 'credentials', flagFor('not_permitted'), {
        ...{ attempt: { outcome: 'misconfigured', keySpent: true }, isKnown: true, retrying: false },
      }),
    ],
    [
      'none to a lookup, because the credentials cannot be used',
      () => accountUnusable(given({ step: 'look_up' }), 'No.'),
      flaggedAs('attempt.misconfigured', 'credentials', unusable),
    ],
    [
      'none to a review, because the credentials cannot be used',
      () => accountUnusable(given({ step: 'review' }), 'No.'),
      { moves: [], dueInMs: 15 * minutes, waitingFor: null },
    ],
    [
      'the payment',
      () => paymentStored(given(), { amount: 500n }),
      { moves: [], dueInMs: 0, waitingFor: null, consecutiveFailures: 0 },
    ],
    [
      'a payment too large to store',
      () => paymentStored(given(), { amount: null }),
      { moves: [], waitingFor: null, ...again },
    ],
  ])('decides what is recorded: %s', (_answer, outcomeOf, expected) => {
    expect(outcomeOf()).toEqual(expected);
  });
});

describe('without an answer', () => {
  const failedTimes = (failures: number) => given({ work: { consecutiveFailures: failures } });
  const troubledFor = (ms: number, more: Given['work'] = {}) =>
    given({ step: 'settle', work: { retryingSince: ago(ms), ...more } });
  const unknownFor = (ms: number, more: Given['work'] = {}) =>
    troubledFor(ms, { unknownSince: ago(ms), ...more });
  const ofSend = { isAttempt: true };
  const ofRead = { isAttempt: false };
  const notApplied = { attempt: { outcome: 'unavailable' as const } };
  const ended = { attempt: { outcome: 'unavailable' as const, keySpent: false } };
  const endedWithKey = { attempt: { outcome: 'unavailable' as const, keySpent: true } };
  const stepFailure = {
    code: 'step_failed',
    message: "The processor's answer could not be recorded. See the worker log.",
  };
  const isUnknown = { waitingFor: 'unknown_outcome' };
  const ofAttempt = (keySpent: boolean) => ({ attempt: { outcome: 'unknown', keySpent } });

  test.each<Row>([
    ['not sent', () => unavailable(given(), unansweredFor(), ofSend), notSent(outage, ended)],
    [
      'not sent, a moment before the retry deadline',
      () => unavailable(troubledFor(3 * days - 1), unansweredFor(), ofRead),
      notSent(outage),
    ],
    [
      'not sent until the retry deadline',
      () => unavailable(troubledFor(3 * days), unansweredFor(), ofSend),
      givenUp('The processor could not be reached', ended),
    ],
    [
      'not sent until the payment settles, also after the retry deadline',
      () => unavailable(troubledFor(30 * days), unansweredFor(unsettled, 'payment_unsettled'), ofSend),
      notSent(unsettled, { ...endedWithKey, waitingFor: 'payment_unsettled', retrying: false, flag: null }),
    ],
    [
      'not sent until the balance covers it, also after the retry deadline',
      () => unavailable(troubledFor(30 * days), unansweredFor(outage, 'insufficient_balance'), ofSend),
      notSent(outage, {
        ...{ ...endedWithKey, waitingFor: 'insufficient_balance', retrying: false },
        flag: flagFor('insufficient_balance'),
      }),
    ],
    [
      'not sent, because the account or the payment is busy',
      () => unavailable(given(), unansweredFor(outage, 'rate_limited'), ofSend),
      notSent(outage, { ...ended, waitingFor: 'rate_limited' }),
    ],
    [
      'not sent for a week, because the payment has not settled',
      () =>
        unavailable(
          given({ refund: { createdAt: ago(7 * days) } }),
          unansweredFor(unsettled, 'payment_unsettled'),
          ofRead,
        ),
      notSent(unsettled, {
        ...{ waitingFor: 'payment_unsettled', retrying: false },
        flag: flagFor('unsettled'),
      }),
    ],
    [
      'not as documented until the retry deadline',
      () => unavailable(troubledFor(3 * days), unansweredFor(unreadable, 'unreadable'), ofRead),
      givenUp("The processor's answers could not be read"),
    ],
    [
      'not as documented, twice',
      () => unavailable(failedTimes(1), unansweredFor(unreadable, 'unreadable'), ofRead),
      notSent(unreadable, { consecutiveFailures: 2, dueInMs: 1_100 }),
    ],
    [
      'not as documented, three times',
      () => unavailable(failedTimes(2), unansweredFor(unreadable, 'unreadable'), ofRead),
      notSent(unreadable, { consecutiveFailures: 3, dueInMs: 2_200, flag: flagFor('answer_unreadable') }),
    ],
    [
      'not sent, three times',
      () => unavailable(failedTimes(2), unansweredFor(), ofRead),
      notSent(outage, { consecutiveFailures: 3, dueInMs: 2_200 }),
    ],
    [
      'perhaps applied',
      () => unknown(given(), { failure: outage }),
      retried('attempt.unknown', outage, { ...isUnknown, ...ofAttempt(false) }),
    ],
    [
      'perhaps applied under a key that is refused now',
      () => unknown(given(), { failure: outage, keyRefused: true }),
      retried('attempt.unknown', outage, { ...isUnknown, ...ofAttempt(true) }),
    ],
    [
      'held by the processor for a reviewer',
      () => unknown(given(), { failure: outage, awaitsApproval: true }),
      {
        ...flaggedAs('attempt.unknown', 'approval_at_processor', flagFor('approval_at_processor')),
        ...{ ...ofAttempt(false), awaitsApproval: true },
      },
    ],
    [
      'not found while the processor holds it for a reviewer, however long',
      () =>
        absent(
          unknownFor(30 * days, {
            ...{ approvalRequestedAt: ago(30 * days), flagReason: 'approval_at_processor' },
            flagFacts: { message: 'No.' },
          }),
        ),
      { moves: [], dueInMs: 15 * minutes, waitingFor: 'approval_at_processor', consecutiveFailures: 1 },
    ],
    [
      'unknown for almost a day',
      () => unanswered(unknownFor(days - 1), 'lookup.unanswered', outage, null),
      retried('lookup.unanswered', outage, isUnknown),
    ],
    [
      'unknown for a day, and asked to wait',
      () => unanswered(unknownFor(days), 'lookup.unanswered', outage, 5_000),
      retried('lookup.unanswered', outage, {
        ...{ ...isUnknown, dueInMs: 5_250 },
        flag: flagFor('outcome_unknown'),
      }),
    ],
    [
      'unknown for a day, already flagged',
      () => unanswered(unknownFor(days, { flaggedAt: now }), 'lookup.unanswered', outage, null),
      retried('lookup.unanswered', outage, isUnknown),
    ],
    [
      'unread for a day',
      () => stateUnread(troubledFor(days), unansweredFor()),
      retried(...(['settlement.flagged', { flag: flagFor('no_answer') }] as const), {
        waitingFor: 'processor_unreachable',
        flag: flagFor('no_answer'),
      }),
    ],
    [
      'waiting for the customer, and unread',
      () =>
        stateUnread(
          given({ work: { waitingFor: 'customer_action', waitingUntil: inAnHour } }),
          unansweredFor(),
        ),
      {
        ...{ ...again, moves: [], retrying: true },
        ...{ waitingFor: 'customer_action', waitingUntil: inAnHour },
      },
    ],
    [
      'unread for a day after the end',
      () =>
        stateUnread(
          given({ refund: { status: 'failed' }, work: { retryingSince: ago(days) } }),
          unansweredFor(),
        ),
      {
        ...retried('', {}, { waitingFor: null, flag: flagFor('no_answer') }),
        moves: [move('review.flagged', { flag: flagFor('no_answer') }, 'failed')],
      },
    ],
    [
      'a cancellation',
      () => cancelUnconfirmed(given(), unansweredFor(outage, 'unreachable', 5_000), there),
      retried('cancel.unanswered', outage, { ...isUnknown, dueInMs: 5_250 }),
    ],
    [
      'a cancellation that may have been applied',
      () => cancelUnconfirmed(given(), { kind: 'unknown', failure: outage }, {}),
      retried('cancel.unanswered', outage, isUnknown),
    ],
    [
      'a refused cancellation',
      () => cancelUnconfirmed(given(), { kind: 'refused', failure: no }, there),
      refusedCancel,
    ],
    [
      'a cancellation that the key may not ask for',
      () => cancelUnconfirmed(given(), { kind: 'misconfigured', ...refusal }, there),
      refusedCancel,
    ],
    [
      'a refused cancellation of a refund that waits at the processor',
      () =>
        cancelUnconfirmed(
          given(),
          { kind: 'refused', failure: no },
          { ...there, waitsFor: 'insufficient_balance' },
        ),
      { ...refusedCancel, waitingFor: 'insufficient_balance' },
    ],
    [
      'not found, a moment before that is proof',
      () => absent(unknownFor(1.5 * minutes - 1)),
      {
        moves: [move('lookup.inconclusive', { conclusiveAt: '2026-11-24T12:00:00.001Z' })],
        ...{ dueInMs: 1, waitingFor: 'unknown_outcome' },
      },
    ],
    [
      'not found, once that is proof',
      () => absent(unknownFor(1.5 * minutes)),
      {
        moves: [{ to: 'processing', type: 'lookup.absent' }],
        ...{ ...notApplied, dueInMs: 0, waitingFor: null, isKnown: true, flag: null },
      },
    ],
    [
      'not found after the retry deadline',
      () => absent(unknownFor(3 * days)),
      failedWith(
        'processor_unavailable',
        'The processor could not be reached before the retry deadline. Last error: refund not found',
        notApplied,
      ),
    ],
    [
      'not found after the retry deadline, with credentials that were refused until now',
      () => absent(unknownFor(3 * days, { flaggedAt: now, flagReason: 'account_unusable', flagFacts: {} })),
      {
        moves: [{ to: 'processing', type: 'lookup.absent' }],
        ...{ ...notApplied, dueInMs: 0, waitingFor: null, retrying: false, isKnown: true, flag: null },
      },
    ],
    ['a send that failed here', () => stepFailed(given()), unknown(given(), { failure: stepFailure })],
    [
      'a lookup that failed here',
      () => stepFailed(given({ step: 'look_up' })),
      retried('lookup.unanswered', stepFailure, isUnknown),
    ],
    [
      'a cancellation that failed here',
      () => stepFailed(given({ step: 'cancel_at_processor' })),
      retried('cancel.unanswered', stepFailure, isUnknown),
    ],
    [
      'a reading that failed here',
      () => stepFailed(given({ step: 'settle' })),
      { ...again, moves: [], waitingFor: 'processor_unreachable', retrying: true },
    ],
  ])('decides what is recorded: %s', (_what, outcomeOf, expected) => {
    expect(outcomeOf()).toEqual(expected);
  });
});
