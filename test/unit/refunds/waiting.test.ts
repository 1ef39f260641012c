import { expect, test } from 'vitest';
import { waitingOf } from '#shared/refunds/model/waiting.ts';

const now = new Date('2026-11-24T12:00:00Z');
const before = new Date('2026-11-24T11:00:00Z');
const created = new Date('2026-11-24T10:00:00Z');
const later = new Date('2026-11-24T13:00:00Z');

const processing = {
  status: 'processing',
  createdAt: created,
  acceptedAt: null,
  heldUntil: null,
  externalRefundId: null,
} as const;
const accepted = { ...processing, externalRefundId: 're_1', acceptedAt: before };
const idle = {
  waitingFor: null,
  waitingSince: null,
  waitingUntil: null,
  unknownSince: null,
  approvalRequestedAt: null,
  leasedUntil: null,
  dueAt: now,
};
const waits = { ...idle, waitingFor: 'rate_limited', waitingSince: before, dueAt: later };
const unknown = { ...idle, unknownSince: before, dueAt: later };

test.each([
  [
    'that awaits approval',
    { ...processing, status: 'pending' } as const,
    null,
    null,
    ['approval', created, null],
  ],
  ['that is held', { ...processing, heldUntil: later }, idle, null, ['hold', created, later]],
  [
    'whose hold began with its approval',
    { ...processing, heldUntil: later },
    { ...idle, waitingSince: before },
    null,
    ['hold', before, later],
  ],
  ['whose hold is over', { ...processing, heldUntil: before }, idle, null, null],
  ['that is due', processing, idle, null, null],
  ['that is tried again later', processing, waits, null, ['rate_limited', before, later]],
  ['that is due again', processing, { ...waits, dueAt: before }, null, ['rate_limited', before, null]],
  ['whose attempt is under way', processing, { ...unknown, leasedUntil: later }, null, null],
  [
    'whose worker has died',
    processing,
    { ...unknown, leasedUntil: before },
    null,
    ['unknown_outcome', before, later],
  ],
  [
    'that the processor holds for a reviewer, whatever came of its last lookup',
    processing,
    { ...unknown, waitingFor: 'credentials', waitingSince: before, approvalRequestedAt: created },
    null,
    ['approval_at_processor', created, null],
  ],
  ['that is accepted', accepted, { ...idle, dueAt: later }, null, ['settlement', before, null]],
  [
    'that waits at the processor',
    accepted,
    { ...waits, waitingFor: 'customer_action' },
    null,
    ['customer_action', before, null],
  ],
  [
    'whose request to the customer expires',
    accepted,
    { ...waits, waitingFor: 'customer_action', waitingUntil: later },
    null,
    ['customer_action', before, later],
  ],
  [
    'whose request to the customer has expired',
    accepted,
    { ...waits, waitingFor: 'customer_action', waitingUntil: before },
    null,
    ['customer_action', before, null],
  ],
  [
    'that is accepted and cannot be read',
    accepted,
    { ...waits, waitingFor: 'processor_unreachable' },
    null,
    ['processor_unreachable', before, later],
  ],
  ['of a restored database', processing, waits, before, ['recovery', before, null]],
  ['that has completed', { ...accepted, status: 'completed' } as const, null, before, null],
])('a refund %s waits for %o', (_which, refund, work, recoverySince, expected) => {
  const [reason, since, until] = expected ?? [];
  expect(waitingOf(refund, work, recoverySince, now)).toEqual(expected && { reason, since, until });
});
