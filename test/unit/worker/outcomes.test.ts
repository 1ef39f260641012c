import { describe, expect, test } from 'vitest';
import type { Settings } from '#shared/platform/config.ts';
import type { ProcessorRefund, UnavailableCause } from '#shared/processors/contract/processor.ts';
import type { Claim } from '#shared/refunds/lifecycle/statements.ts';
import type { StepResult } from '#shared/refunds/lifecycle/step-result.ts';
import {
  accepted,
  credentialsRefused,
  type OutcomeContext,
  paymentMissing,
  paymentStored,
  stateRead,
} from '#worker/advance/outcomes.ts';
import { accountUnusable, stepFailed } from '#worker/advance/steps.ts';
import {
  absent,
  cancelUnconfirmed,
  stateUnread,
  unanswered,
  unavailable,
  unknown,
} from '#worker/advance/unanswered.ts';

const minutes = 60_000;
const days = 24 * 60 * minutes;
const now = new Date('2026-11-24T12:00:00Z');
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
  afterServerError?: Claim['afterServerError'];
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
  serverErrorAt: null,
  cancelRequestedAt: null,
  flagReason: null,
  flagFacts: null,
  flaggedAt: null,
};

function given({
  step = 'send',
  refund = {},
  work = {},
  afterServerError = null,
}: Given = {}): OutcomeContext {
  const rows = { refund: { ...asked, ...refund }, work: { ...untroubled, ...work } };
  const claim = { step, now, afterServerError, ...rows } as Claim;
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
const anotherAccount = 'The credentials may be those of another account, without this payment. No.';
const no = { code: 'credentials_unusable', message: 'No.' };
const refusal = { scope: 'credentials', failure: no } as const;
const outage = { code: 'timeout', message: 'No.' };
const unsettled = { code: 'unsettled', message: 'No.' };
const unreadable = { code: 'unexpected_answer', message: 'No.' };

const again = { dueInMs: 550 };
const slowly = { dueInMs: 15 * minutes };
const unansweredFor = (
  failure = outage,
  cause: UnavailableCause = 'unreachable',
  retryAfterMs: number | null = null,
) => ({ kind: 'unavailable', cause, failure, retryAfterMs }) as const;

const flagFor = (reason: string, message = 'No.') => ({ reason, facts: { message } });
const unusable = { flag: flagFor('account_unusable'), ...slowly };
const asFound = {
  externalRefundId: 're_1',
  status: 'processing',
  expectedAmount: 500,
  expectedCurrency: 'usd',
};
const differs = {
  reason: 'amount_differs',
  facts: { ...asFound, processorStatus: 'pending', amount: 499, currency: 'usd' },
};

type Row = [answer: string, resultOf: () => StepResult, expected: object];

describe('an answer', () => {
  const fewer = { ...there, amount: 499n };
  const short = { ...there, waitsFor: 'insufficient_balance' } as const;
  const overdue = { ...there, dueBy: now };
  const isShort = {
    reason: 'insufficient_balance',
    facts: { ...differs.facts, amount: 500 },
  };
  const isAccepted = { kind: 'accepted', by: 'attempt.accepted', flag: null, dueInMs: 10_000 };
  const isOpen = { kind: 'open', flag: null, dueInMs: 10_000 };

  test.each<Row>([
    ['open', () => accepted(given(), 'attempt.accepted', there), { ...isAccepted, found: there }],
    [
      'completed with another amount',
      () => accepted(given(), 'lookup.found', { ...completedThere, amount: 499n }),
      {
        ...{ ...isAccepted, by: 'lookup.found', found: { ...completedThere, amount: 499n } },
        flag: { ...differs, facts: { ...differs.facts, processorStatus: 'succeeded' } },
      },
    ],
    [
      'open in another currency',
      () => accepted(given(), 'lookup.found', { ...there, currency: 'eur' }),
      {
        ...{ ...isAccepted, by: 'lookup.found', found: { ...there, currency: 'eur' } },
        flag: { ...differs, facts: { ...differs.facts, amount: 500, currency: 'eur' } },
      },
    ],
    [
      'failed at once, with another amount',
      () => accepted(given(), 'attempt.accepted', { ...failedThere, amount: 499n }),
      { kind: 'settled', to: 'failed', found: { ...failedThere, amount: 499n }, by: 'attempt.accepted' },
    ],
    [
      'completed at once',
      () => accepted(given(), 'attempt.accepted', completedThere),
      { kind: 'settled', to: 'completed', found: completedThere, by: 'attempt.accepted' },
    ],
    [
      'accepted, and held for want of balance',
      () => accepted(given(), 'attempt.accepted', short),
      { ...isAccepted, found: short, flag: isShort },
    ],
    ['open as before', () => stateRead(given(), there), { ...isOpen, found: there }],
    [
      'open for the second time',
      () => stateRead(given({ work: { consecutiveFailures: 1 } }), there),
      { ...isOpen, found: there, dueInMs: 20_000 },
    ],
    [
      'open for longer than such refunds take',
      () => stateRead(given(), overdue),
      { ...isOpen, found: overdue, flag: { ...isShort, reason: 'overdue' } },
    ],
    [
      'an amount that differs',
      () => stateRead(given(), fewer),
      { kind: 'flagged', by: 'settlement.flagged', waitingFor: 'settlement', flag: differs, ...slowly },
    ],
    [
      'failed with another amount',
      () => stateRead(given(), { ...failedThere, amount: 499n }),
      { kind: 'settled', to: 'failed', found: { ...failedThere, amount: 499n }, by: null },
    ],
    [
      'completed',
      () => stateRead(given(), completedThere),
      { kind: 'settled', to: 'completed', found: completedThere, by: null },
    ],
    [
      'refused credentials',
      () => credentialsRefused(given(), refusal),
      { kind: 'credentials_refused', ...unusable },
    ],
    [
      'a refusal of this payment alone',
      () => credentialsRefused(given(), { ...refusal, scope: 'object' }),
      { kind: 'credentials_refused', flag: flagFor('not_permitted'), ...slowly },
    ],
    [
      'no such payment, to the first attempt',
      () => paymentMissing(given(), no),
      { kind: 'credentials_refused', flag: flagFor('account_unusable', anotherAccount), ...slowly },
    ],
    [
      'no such payment, to the second attempt',
      () => paymentMissing(given({ work: { attemptNumber: 2 } }), no),
      { kind: 'payment_missing', flag: flagFor('account_unusable', anotherAccount), ...slowly },
    ],
    [
      'none to a send, because the credentials cannot be used',
      () => accountUnusable(given(), 'send', 'No.'),
      { kind: 'credentials_refused', ...unusable },
    ],
    [
      'none to a lookup, because the credentials cannot be used',
      () => accountUnusable(given(), 'look_up', 'No.'),
      { kind: 'flagged', by: 'attempt.misconfigured', waitingFor: 'credentials', ...unusable },
    ],
    [
      'none to a review, because the credentials cannot be used',
      () => accountUnusable(given(), 'review', 'No.'),
      { kind: 'unchanged', ...slowly },
    ],
    ['the payment', () => paymentStored(given(), { amount: 500n }), { kind: 'payment_stored' }],
    [
      'a payment too large to store',
      () => paymentStored(given(), { amount: null }),
      { kind: 'payment_unstorable', ...again },
    ],
  ])('decides what a step has come to: %s', (_answer, resultOf, expected) => {
    expect(resultOf()).toEqual(expected);
  });
});

describe('without an answer', () => {
  const failedTimes = (failures: number) => given({ work: { consecutiveFailures: failures } });
  const troubledFor = (ms: number, more: Given['work'] = {}) =>
    given({ step: 'settle', work: { retryingSince: ago(ms), ...more } });
  const unknownFor = (ms: number, more: Given['work'] = {}) =>
    troubledFor(ms, { unknownSince: ago(ms), ...more });
  const notApplied = (failure = outage, cause: UnavailableCause = 'unreachable') => ({
    ...{ kind: 'not_applied', cause, failure, ...again },
  });
  const givenUp = (what: string, last = 'No.') => ({
    ...{ kind: 'failed', attempt: 'unavailable' },
    failure: {
      code: 'processor_unavailable',
      message: `${what} before the retry deadline. Last error: ${last}`,
    },
  });
  const unansweredAs = (by: string, failure: object = outage) => ({
    ...{ kind: 'unanswered', by, failure, ...again },
  });
  const hours = 60 * minutes;
  const serverError = (follows: Claim['afterServerError'], age: number, more: Given['work'] = {}) => {
    const work = { unknownSince: ago(2 * minutes), serverErrorAt: ago(age * hours), ...more };
    return given({ afterServerError: follows, work });
  };
  const notFound = { kind: 'absent', hadNoAccount: false };
  const undecidable = {
    ...{ kind: 'flagged', by: 'lookup.inconclusive', waitingFor: 'unknown_outcome', ...slowly },
    flag: flagFor('outcome_unknown', 'A server error, after which the refund may be carried out later.'),
  };
  const perhapsApplied = {
    kind: 'perhaps_applied',
    failure: outage,
    isKeySpent: false,
    serverError: false,
    ...again,
  };
  const refusedCancel = { kind: 'cancel_refused', failure: no, found: there, dueInMs: 10_000 };
  const stepFailure = {
    code: 'step_failed',
    message: "The processor's answer could not be recorded. See the worker log.",
  };

  test.each<Row>([
    ['not sent', () => unavailable(given(), unansweredFor()), notApplied()],
    [
      'not sent, a moment before the retry deadline',
      () => unavailable(troubledFor(3 * days - 1), unansweredFor()),
      notApplied(),
    ],
    [
      'not sent until the retry deadline',
      () => unavailable(troubledFor(3 * days), unansweredFor()),
      givenUp('The processor could not be reached'),
    ],
    [
      'not sent until the payment settles, also after the retry deadline',
      () => unavailable(troubledFor(30 * days), unansweredFor(unsettled, 'payment_unsettled')),
      { ...notApplied(unsettled, 'payment_unsettled'), flag: null },
    ],
    [
      'not sent until the balance covers it, also after the retry deadline',
      () => unavailable(troubledFor(30 * days), unansweredFor(outage, 'insufficient_balance')),
      { ...notApplied(outage, 'insufficient_balance'), flag: flagFor('insufficient_balance') },
    ],
    [
      'not sent for a week, because the payment has not settled',
      () =>
        unavailable(
          given({ refund: { createdAt: ago(7 * days) } }),
          unansweredFor(unsettled, 'payment_unsettled'),
        ),
      { ...notApplied(unsettled, 'payment_unsettled'), flag: flagFor('unsettled') },
    ],
    [
      'not as documented until the retry deadline',
      () => unavailable(troubledFor(3 * days), unansweredFor(unreadable, 'unreadable')),
      givenUp("The processor's answers could not be read"),
    ],
    [
      'not as documented, twice',
      () => unavailable(failedTimes(1), unansweredFor(unreadable, 'unreadable')),
      { ...notApplied(unreadable, 'unreadable'), dueInMs: 1_100 },
    ],
    [
      'not as documented, three times',
      () => unavailable(failedTimes(2), unansweredFor(unreadable, 'unreadable')),
      {
        ...{ ...notApplied(unreadable, 'unreadable'), dueInMs: 2_200 },
        flag: flagFor('answer_unreadable'),
      },
    ],
    ['perhaps applied', () => unknown(given(), { failure: outage }), perhapsApplied],
    [
      'perhaps applied under a key that is refused now',
      () => unknown(given(), { failure: outage, keyRefused: true }),
      { ...perhapsApplied, isKeySpent: true },
    ],
    [
      'a server error',
      () => unknown(given(), { failure: outage, serverError: true }),
      { ...perhapsApplied, serverError: true },
    ],
    [
      'not found after a server error, while the key guards another attempt',
      () => absent(serverError('same_key', 1)),
      notFound,
    ],
    [
      'not found after a server error by the retry deadline',
      () => absent(serverError('same_key', 1, { retryingSince: ago(3 * days) })),
      undecidable,
    ],
    [
      'not found after a server error, which only a person can decide',
      () => absent(serverError('person', 30)),
      undecidable,
    ],
    [
      'not found a moment before a day after a server error, and cancelled',
      () => absent(serverError('wait', 24, { serverErrorAt: ago(days - 1), cancelRequestedAt: now })),
      { kind: 'inconclusive', conclusiveAt: new Date(now.getTime() + 1), dueInMs: 1 },
    ],
    [
      'not found for a day after a server error, past the retry deadline, and cancelled',
      () => absent(serverError('wait', 24, { cancelRequestedAt: now, retryingSince: ago(4 * days) })),
      notFound,
    ],
    [
      'not sent after the retry deadline and a server error',
      () => unavailable(serverError('same_key', 1, { retryingSince: ago(3 * days) }), unansweredFor()),
      notApplied(),
    ],
    [
      'held by the processor for a reviewer',
      () => unknown(given(), { failure: outage, awaitsApproval: true }),
      {
        ...{ kind: 'approval_at_processor', by: 'attempt.unknown', ...slowly },
        flag: flagFor('approval_at_processor'),
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
      {
        ...{ kind: 'approval_at_processor', by: 'lookup.inconclusive', ...slowly },
        flag: flagFor('approval_at_processor'),
      },
    ],
    [
      'unknown for almost a day',
      () => unanswered(unknownFor(days - 1), 'lookup.unanswered', outage, null),
      unansweredAs('lookup.unanswered'),
    ],
    [
      'unknown for a day, and asked to wait',
      () => unanswered(unknownFor(days), 'lookup.unanswered', outage, 5_000),
      { ...unansweredAs('lookup.unanswered'), dueInMs: 5_250, flag: flagFor('outcome_unknown') },
    ],
    [
      'unknown for a day, already flagged',
      () => unanswered(unknownFor(days, { flaggedAt: now }), 'lookup.unanswered', outage, null),
      unansweredAs('lookup.unanswered'),
    ],
    [
      'unread for a day',
      () => stateUnread(troubledFor(days), unansweredFor()),
      { kind: 'unread', cause: 'unreachable', flag: flagFor('no_answer'), ...again },
    ],
    [
      'a cancellation',
      () => cancelUnconfirmed(given(), unansweredFor(outage, 'unreachable', 5_000), there),
      { ...unansweredAs('cancel.unanswered'), dueInMs: 5_250 },
    ],
    [
      'a cancellation that may have been applied',
      () => cancelUnconfirmed(given(), { kind: 'unknown', failure: outage }, {}),
      unansweredAs('cancel.unanswered'),
    ],
    [
      'a cancellation that is held for a reviewer',
      () => cancelUnconfirmed(given(), { kind: 'unknown', failure: no, awaitsApproval: true }, there),
      refusedCancel,
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
      'not found, a moment before that is proof',
      () => absent(unknownFor(1.5 * minutes - 1)),
      { kind: 'inconclusive', conclusiveAt: new Date('2026-11-24T12:00:00.001Z'), dueInMs: 1 },
    ],
    ['not found, once that is proof', () => absent(unknownFor(1.5 * minutes)), notFound],
    [
      'not found after the retry deadline',
      () => absent(unknownFor(3 * days)),
      givenUp('The processor could not be reached', 'refund not found'),
    ],
    [
      'not found after the retry deadline, with credentials that were refused until now',
      () => absent(unknownFor(3 * days, { flaggedAt: now, flagReason: 'account_unusable', flagFacts: {} })),
      { kind: 'absent', hadNoAccount: true },
    ],
    ['a send that failed here', () => stepFailed(given()), { ...perhapsApplied, failure: stepFailure }],
    [
      'a lookup that failed here',
      () => stepFailed(given({ step: 'look_up' })),
      unansweredAs('lookup.unanswered', stepFailure),
    ],
    [
      'a cancellation that failed here',
      () => stepFailed(given({ step: 'cancel_at_processor' })),
      unansweredAs('cancel.unanswered', stepFailure),
    ],
    [
      'a reading that failed here',
      () => stepFailed(given({ step: 'settle' })),
      { kind: 'unread', cause: 'unreadable', ...again },
    ],
  ])('decides what a step has come to: %s', (_what, resultOf, expected) => {
    expect(resultOf()).toEqual(expected);
  });
});
