import { expect, test } from 'vitest';
import type { ProcessorRefund } from '#shared/processors/contract/processor.ts';
import type { Claim } from '#shared/refunds/lifecycle/statements.ts';
import { outcomeOf } from '#shared/refunds/lifecycle/step-outcome.ts';
import type { StepResult } from '#shared/refunds/lifecycle/step-result.ts';

const refund = { status: 'processing', amount: 500n, currency: 'usd', processorStatus: 'pending' };
const work = { attemptNumber: 1, idempotencyKeyVersion: 1, consecutiveFailures: 1, flagReason: null };
const claimOf = (of: Partial<Claim['refund']> = {}, its: Partial<Claim['work']> = {}) =>
  ({ refund: { ...refund, ...of }, work: { retryingSince: null, ...work, ...its } }) as Claim;

const there: ProcessorRefund = {
  ...{ id: 're_1', refundId: 'ref_1', requestDigest: null, amount: 500n, currency: 'usd', state: 'open' },
  ...{ processorStatus: 'pending', failure: null },
};
const arrival = { kind: 'credit', reference: '42', referenceType: null } as const;
const inAnHour = new Date('2026-11-24T13:00:00Z');
const failure = { code: 'timeout', message: 'No.' };
const flag = { reason: 'overdue', facts: { message: 'No.' } } as const;
const dueInMs = 550;

const read = { externalRefundId: 're_1', processorStatus: 'pending' };
const move = (type: string, detail?: object, to = 'processing') => ({
  moves: [{ to, type, ...(detail && { detail }) }],
});
const attempt = (outcome: string, isKeySpent?: boolean) => ({ attempt: { outcome, isKeySpent } });
const settling = { dueInMs, waitingFor: 'settlement', retrying: false };
const troubled = { dueInMs, consecutiveFailures: 2 };
const isUnknown = { ...troubled, waitingFor: 'unknown_outcome', retrying: true, flag };
const atCredentials = { ...troubled, waitingFor: 'credentials', flag };
const ended = { dueInMs: null, waitingFor: null, endsCancel: true, flag: null };
const reviewed = { dueInMs: null, waitingFor: null };
const refused = { ...move('attempt.misconfigured', { flag }), ...atCredentials, retrying: false };
const held = { ...troubled, waitingFor: 'approval_at_processor', awaitsApproval: true };
const isFlagged = { flagReason: 'overdue', flagFacts: {} };
const failed = { failureCode: 'timeout', failureMessage: 'No.' };

test.each<[result: StepResult, expected: object, claim?: Claim]>([
  [{ kind: 'payment_stored' }, { moves: [], dueInMs: 0, waitingFor: null, consecutiveFailures: 0 }],
  [
    { kind: 'payment_unstorable', dueInMs },
    { moves: [], ...troubled, waitingFor: null },
  ],
  [
    { kind: 'not_applied', cause: 'unreachable', failure, flag: undefined, dueInMs },
    {
      ...{ ...move('attempt.unavailable', failure), ...attempt('unavailable', true) },
      ...{ ...troubled, waitingFor: 'processor_unreachable', retrying: true },
    },
  ],
  [
    { kind: 'not_applied', cause: 'rate_limited', failure, flag: undefined, dueInMs },
    {
      ...{ ...move('attempt.unavailable', failure), ...attempt('unavailable', false) },
      ...{ ...troubled, waitingFor: 'rate_limited', retrying: true },
    },
    claimOf({}, { attemptNumber: 2 }),
  ],
  [
    { kind: 'credentials_refused', flag, dueInMs },
    { ...refused, ...attempt('misconfigured', true), isRefused: true },
    claimOf({}, { ...isFlagged, attemptNumber: 2, idempotencyKeyVersion: 2 }),
  ],
  [
    { kind: 'not_applied', cause: 'insufficient_balance', failure, flag, dueInMs },
    {
      ...{ ...move('attempt.unavailable', failure), ...attempt('unavailable', true) },
      ...{ ...troubled, waitingFor: 'insufficient_balance', retrying: false, flag },
    },
  ],
  [
    { kind: 'credentials_refused', flag, dueInMs },
    { ...refused, ...attempt('misconfigured', true), isRefused: true },
  ],
  [
    { kind: 'credentials_refused', flag, dueInMs },
    { ...refused, ...attempt('misconfigured', false), isRefused: true },
    claimOf({}, { ...isFlagged, attemptNumber: 2 }),
  ],
  [
    { kind: 'payment_missing', flag, dueInMs },
    { ...refused, ...attempt('misconfigured', true) },
  ],
  [
    { kind: 'perhaps_applied', failure, isKeySpent: true, serverError: false, flag, dueInMs },
    { ...move('attempt.unknown', failure), ...attempt('unknown', true), ...isUnknown },
  ],
  [
    { kind: 'perhaps_applied', failure, isKeySpent: false, serverError: true, flag, dueInMs },
    {
      ...move('attempt.unknown', failure),
      ...attempt('unknown', false),
      ...isUnknown,
      serverError: true,
    },
  ],
  [
    { kind: 'approval_at_processor', by: 'attempt.unknown', flag, dueInMs },
    { ...move('attempt.unknown', { flag }), ...attempt('unknown'), ...held, flag },
    claimOf({}, isFlagged),
  ],
  [
    { kind: 'approval_at_processor', by: 'lookup.inconclusive', flag, dueInMs },
    { moves: [], ...attempt('unknown'), ...held },
    claimOf({}, isFlagged),
  ],
  [
    { kind: 'accepted', by: 'lookup.found', found: { ...there, arrival }, flag: null, dueInMs },
    {
      ...{ ...move('lookup.found', read), change: { ...read, arrival }, ...attempt('accepted') },
      ...{ ...settling, consecutiveFailures: 0, flag: null },
    },
  ],
  [
    { kind: 'inconclusive', conclusiveAt: inAnHour, dueInMs },
    {
      ...move('lookup.inconclusive', { conclusiveAt: '2026-11-24T13:00:00.000Z' }),
      ...{ dueInMs, waitingFor: 'unknown_outcome' },
    },
  ],
  [
    { kind: 'absent', hadNoAccount: true },
    {
      ...{ ...move('lookup.absent'), ...attempt('unavailable') },
      ...{ dueInMs: 0, waitingFor: null, retrying: false, flag: null },
    },
  ],
  [
    { kind: 'lookup_refused', flag, dueInMs },
    { ...move('lookup.flagged', { flag }), ...atCredentials, retrying: true },
    claimOf({}, isFlagged),
  ],
  [
    { kind: 'open', found: there, flag: null, dueInMs },
    { moves: [], ...settling, consecutiveFailures: 2 },
  ],
  [
    { kind: 'open', found: { ...there, arrival }, flag: null, dueInMs },
    {
      ...{ ...move('settlement.progress', { processorStatus: 'pending' }), flag: null },
      ...{ change: { processorStatus: 'pending', arrival }, ...settling, consecutiveFailures: 2 },
    },
  ],
  [
    { kind: 'open', found: { ...there, waitsFor: 'customer_action', dueBy: inAnHour }, flag, dueInMs },
    {
      ...{ ...move('settlement.progress', { processorStatus: 'pending', flag }), flag },
      ...{ change: { processorStatus: 'pending' }, ...settling, consecutiveFailures: 2 },
      ...{ waitingFor: 'customer_action', waitingUntil: inAnHour },
    },
  ],
  [
    { kind: 'flagged', by: 'settlement.flagged', waitingFor: 'settlement', flag, dueInMs },
    { ...move('settlement.flagged', { flag }), ...troubled, waitingFor: 'settlement', flag },
  ],
  [
    { kind: 'flagged', by: 'settlement.flagged', waitingFor: 'settlement', flag, dueInMs },
    { moves: [], ...troubled, waitingFor: 'settlement' },
    claimOf({}, { ...isFlagged, flagReason: 'extra_refund' }),
  ],
  [
    { kind: 'unanswered', by: 'cancel.unanswered', failure, flag, dueInMs },
    { ...move('cancel.unanswered', failure), ...isUnknown },
  ],
  [
    { kind: 'unread', cause: 'unreachable', flag: undefined, dueInMs },
    { moves: [], ...troubled, waitingFor: 'customer_action', waitingUntil: inAnHour, retrying: true },
    claimOf({}, { waitingFor: 'customer_action', waitingUntil: inAnHour }),
  ],
  [
    { kind: 'unread', cause: 'unreachable', flag, dueInMs },
    { ...move('review.flagged', { flag }, 'failed'), ...troubled, waitingFor: null, retrying: true, flag },
    claimOf({ status: 'failed' }),
  ],
  [
    { kind: 'cancel_refused', failure, found: {}, dueInMs },
    { ...move('cancel.refused', failure), ...settling, consecutiveFailures: 0, endsCancel: true },
  ],
  [
    { kind: 'unchanged', dueInMs },
    { moves: [], dueInMs, waitingFor: null },
  ],
  [
    { kind: 'agreed', arrival },
    {
      moves: [...move('review.agreed').moves, ...move('arrival.known', arrival).moves],
      ...{ change: { arrival }, flag: null, ...reviewed },
    },
    claimOf({}, isFlagged),
  ],
  [
    { kind: 'differs', flag },
    { ...move('review.flagged', { flag }), flag, ...reviewed },
  ],
  [
    { kind: 'settled', to: 'completed', found: there, by: 'lookup.found' },
    {
      moves: [...move('lookup.found', read).moves, ...move('refund.completed', read, 'completed').moves],
      ...{ change: read, ...attempt('accepted'), ...ended },
    },
  ],
  [
    { kind: 'settled', to: 'failed', found: { ...there, failure }, by: null },
    {
      ...{ ...move('refund.failed', { ...read, ...failure }, 'failed'), ...ended },
      change: { processorStatus: 'pending', ...failed },
    },
  ],
  [
    { kind: 'failed', failure, attempt: 'rejected' },
    { ...move('refund.failed', failure, 'failed'), change: failed, ...attempt('rejected'), ...ended },
  ],
  [
    { kind: 'cancelled_unsent' },
    { ...move('refund.cancelled', { sent: false }, 'cancelled'), ...ended, unlessResync: true },
  ],
])('records of %o', (result, expected, claim = claimOf()) => {
  expect(outcomeOf(claim, result)).toEqual(expected);
});

test('a result that says of an attempt that it may have been applied says nothing else of it', () => {
  const result = { kind: 'perhaps_applied', failure, isKeySpent: false, flag: undefined, dueInMs } as const;
  // @ts-expect-error: it would be sent again.
  const known: StepResult = { ...result, isRefused: true };
  // @ts-expect-error: no flag ends with it.
  const unflagged: StepResult = { ...result, flag: null };
  for (const each of [known, unflagged]) expect(outcomeOf(claimOf(), each)).not.toHaveProperty('isRefused');
});
