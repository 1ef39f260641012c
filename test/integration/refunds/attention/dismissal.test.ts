import { describe, expect, test } from 'vitest';
import { flagExtraRefund } from '#shared/refunds/changes/flag.ts';
import { dismissFlag } from '#shared/refunds/decisions/resolve.ts';
import type { Flag } from '#shared/refunds/model/flags.ts';
import { auditOf } from '#test/support/audit-log.ts';
import { holdFirstAnswer } from '#test/support/processors/around-calls.ts';
import { advanceRefund } from '#test/support/refunds/advance-refund.ts';
import {
  completedRefund,
  createdRefund,
  flaggedUnknown,
  resolve,
  useServiceThatFlags,
} from '#test/support/refunds/flagged-refunds.ts';
import { lastEventOf, type RefundRecord, rowOf } from '#test/support/refunds/refund-records.ts';
import { flagByHand, leaseByHand } from '#test/support/refunds/refund-work.ts';

const service = useServiceThatFlags();

describe('a dismissal', () => {
  const extra: Flag = { reason: 'extra_refund', facts: { externalRefundId: 're_other' } };
  const dismiss = async ({ id }: RefundRecord) =>
    await dismissFlag(service.deps, await rowOf(service, id), 'cli:ada', 'Known');

  test('is refused for a flag that says that a refund in processing does not continue', async () => {
    const flagged = await flaggedUnknown(service, 'stripe', 'reset');
    expect((await dismiss(flagged)).kind).toBe('not-allowed');
    expect(await rowOf(service, flagged.id)).toEqual(flagged);
    expect(await auditOf(service, flagged.id)).toEqual([]);
  });

  test('leaves the lease and the due time of a refund in processing as they are', async () => {
    const { id } = await createdRefund(service, 'stripe');
    await flagByHand(service, id, extra);
    await leaseByHand(service, id, 60_000);
    const before = await rowOf(service, id);
    expect((await dismiss(before)).kind).toBe('done');
    const { leasedUntil, leaseToken, dueAt, status } = before;
    expect(await rowOf(service, id)).toMatchObject({
      ...{ leasedUntil, leaseToken, dueAt, status },
      ...{ flaggedAt: null, flagReason: null, flagFacts: {} },
    });
    expect(await lastEventOf(service, before)).toMatchObject({
      type: 'flag.dismissed',
      detail: { settled: extra },
    });
  });

  test('of several people at once is made once', async () => {
    const refund = await completedRefund(service, 'stripe');
    await flagByHand(service, refund.id, extra);
    const flagged = await rowOf(service, refund.id);
    const outcomes = await Promise.all(
      ['a', 'b', 'c'].map((name) => dismissFlag(service.deps, flagged, `cli:${name}`, 'Known')),
    );
    const kinds = outcomes.map(({ kind }) => kind).toSorted();
    expect(kinds).toEqual(['done', 'not-flagged', 'not-flagged']);
    expect(await auditOf(service, refund.id)).toMatchObject([{ action: 'refund.flag_dismissed' }]);
  });
});

describe('a flag that changes while its resolution asks the processor', () => {
  async function acceptedAndSettled(): Promise<string> {
    const { id } = await createdRefund(service, 'stripe');
    await advanceRefund(service.deps, id);
    const { externalRefundId } = await rowOf(service, id);
    await service.sandbox.driveRefund(externalRefundId ?? '', { status: 'succeeded' });
    return id;
  }

  /** Runs `meanwhile` between the resolution's lease and its decision. */
  async function resolveWhile(flagged: RefundRecord, meanwhile: () => Promise<unknown>) {
    const answer = holdFirstAnswer(service, 'getRefund');
    const deciding = resolve(service, flagged, 'completed');
    await answer.untilGiven();
    await meanwhile();
    answer.release();
    return await deciding;
  }

  test('stays when reconciliation has found an extra refund', async () => {
    const id = await acceptedAndSettled();
    const flagged = await flagByHand(service, id, { reason: 'no_answer', facts: { message: 'None' } });
    const facts = { externalRefundId: 're_extra' };
    const outcome = await resolveWhile(flagged, () =>
      service.deps.db.$transaction((tx) => flagExtraRefund(tx, flagged, facts, 'worker')),
    );
    expect(outcome.kind).toBe('changed');
    expect(await rowOf(service, id)).toMatchObject({ status: 'processing', flagReason: 'extra_refund' });
  });
});

test('keeps the time of a flag that a retry raises again', async () => {
  const { id } = await createdRefund(service, 'stripe');
  const refuse = () =>
    service.sandbox.fault({ processor: 'stripe', operation: 'refund.create', kind: 'error-403' });
  await refuse();
  await advanceRefund(service.deps, id);
  const { flaggedAt } = await rowOf(service, id);
  await refuse();
  await service.deps.db.$executeRaw`UPDATE refund_work SET due_at = service_time() WHERE refund_id = ${id}`;
  await advanceRefund(service.deps, id);
  expect(flaggedAt).not.toBeNull();
  expect((await rowOf(service, id)).flaggedAt).toEqual(flaggedAt);
});
