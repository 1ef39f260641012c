import { afterEach, describe, expect, test } from 'vitest';
import type { ResolvedStatus } from '#shared/refunds/decisions/evidence.ts';
import { dismissFlag } from '#shared/refunds/decisions/resolve.ts';
import { flagOf } from '#shared/refunds/model/flags.ts';
import { PROCESSORS, type ProcessorName } from '#test/sandbox/processors.ts';
import { auditOf } from '#test/support/audit-log.ts';
import { holdFirstAnswer } from '#test/support/processors/around-calls.ts';
import { endAtProcessor } from '#test/support/processors/end-at-processor.ts';
import { advanceRefund } from '#test/support/refunds/advance-refund.ts';
import {
  completedRefund,
  createdRefund,
  flaggedUnknown,
  resolve,
  reviewed,
  useServiceThatFlags,
} from '#test/support/refunds/flagged-refunds.ts';
import { expectInvariants } from '#test/support/refunds/invariants.ts';
import { storedPayment } from '#test/support/refunds/payments.ts';
import { refundDirectly } from '#test/support/refunds/refund-directly.ts';
import { lastEventOf, type RefundRecord, rowOf, timelineOf } from '#test/support/refunds/refund-records.ts';
import { flagByHand, leaseByHand } from '#test/support/refunds/refund-work.ts';

const service = useServiceThatFlags();

async function remainingFor(refund: RefundRecord): Promise<number> {
  const { transactionId } = refund;
  const { body } = await service.call('POST', '/v1/policies/check', { body: { transactionId } });
  return body.data.maxAmount;
}

const reservedFor = async ({ transactionId }: RefundRecord) =>
  (await storedPayment(service, transactionId)).reserved;

/** What a refused decision leaves unchanged. */
function lasting({ leaseToken: _, work: __, ...rest }: RefundRecord) {
  return rest;
}

const flag = (id: string) => flagByHand(service, id);

/** A completed refund of the same payment that was made outside of this service. */
async function madeElsewhere({ processor: name, transactionId }: RefundRecord): Promise<string> {
  const processor = name as ProcessorName;
  const id = await refundDirectly(service, { processor, transactionId, amount: 2_500 });
  await endAtProcessor(service, { processor, externalRefundId: id }, 'succeeded');
  return id;
}

/** The processor's id of ours, where it arrived. */
async function idThere({ transactionId }: RefundRecord): Promise<string> {
  return (await service.sandbox.refunds({ transactionId }))[0]?.id ?? '';
}

async function completedThere(refund: RefundRecord): Promise<string> {
  const externalRefundId = await idThere(refund);
  await endAtProcessor(service, { ...refund, externalRefundId }, 'succeeded');
  return externalRefundId;
}

const unreadable = async ({ processor }: RefundRecord) => {
  await service.sandbox.fault({ processor, operation: '*', kind: 'error-503', times: null });
  return null;
};

/** What happens next; answers the processor's id that the decision names. */
type Meanwhile = (flagged: RefundRecord) => Promise<string | null>;
const nothing: Meanwhile = async () => null;
const byAnotherId: Meanwhile = async () => 'something_else';

describe.each(PROCESSORS)('a flagged refund of unknown outcome at %s', (processor) => {
  afterEach(() => expectInvariants(service));

  test.each<[ResolvedStatus, string, Meanwhile, left: number]>([
    ['failed', 'reset', nothing, 10_000],
    ['cancelled', 'reset', nothing, 10_000],
    ['completed', 'reset-after-apply', completedThere, 7_500],
    ['completed', 'reset', madeElsewhere, 7_500],
  ])('is resolved as %s after %s when the processor agrees: %o', async (status, kind, meanwhile, left) => {
    const flagged = await flaggedUnknown(service, processor, kind);
    expect(await reservedFor(flagged)).toBe(2_500n);
    const externalRefundId = await meanwhile(flagged);
    expect((await resolve(service, flagged, status, { externalRefundId })).kind).toBe('done');
    const resolved = { status, externalRefundId, flaggedAt: null, work: null };
    expect(await rowOf(service, flagged.id)).toMatchObject(resolved);
    expect(await remainingFor(flagged)).toBe(left);
    const detail = { reason: 'Seen there', settled: flagOf(flagged), forced: false };
    const by = { actor: 'cli:ada' };
    expect(await lastEventOf(service, flagged)).toMatchObject({ ...by, type: `refund.${status}`, detail });
    expect(await auditOf(service, flagged.id)).toMatchObject([
      { ...by, action: 'refund.resolved', detail: { ...detail, as: status } },
    ]);
    expect((await reviewed(service, flagged.id)).flaggedAt).toBeNull();
  });

  test.each<[ResolvedStatus, when: string, kind: string, Meanwhile, evidence: string, object?]>([
    ['failed', 'while the processor has it', 'reset-after-apply', nothing, ' as '],
    ['cancelled', 'while the processor has it', 'reset-after-apply', nothing, ' as '],
    ['failed', 'while the processor cannot be read', 'reset', unreadable, 'could not be read'],
    [
      'failed',
      'before a lookup is proof',
      'reset',
      nothing,
      'is conclusive from',
      { LOOKUP_SETTLE_DELAY_MS: 60_000 },
    ],
    ['completed', 'while it is open there', 'reset-after-apply', idThere, ' as '],
    ['completed', 'under an id that the payment has not', 'reset', byAnotherId, 'has no refund'],
    ['completed', 'under an id of another one, beside ours', 'reset-after-apply', madeElsewhere, 'besides'],
  ])('is not resolved as %s %s', async (status, _when, kind, meanwhile, evidence, changes = {}) => {
    const flagged = await flaggedUnknown(service, processor, kind);
    const externalRefundId = await meanwhile(flagged);
    const deps = { ...service.deps, settings: { ...service.settings, ...changes } };
    const outcome = await resolve({ deps }, flagged, status, { externalRefundId });
    const contradicted = {
      kind: 'contradicted',
      forceable: true,
      evidence: expect.stringContaining(evidence),
    };
    expect(outcome).toMatchObject(contradicted);
    expect(lasting(await rowOf(service, flagged.id))).toEqual(lasting(flagged));
    expect(await auditOf(service, flagged.id)).toEqual([]);
    expect((await lastEventOf(service, flagged)).type).toBe('attempt.unknown');
  });
});

describe('a decision', () => {
  afterEach(() => expectInvariants(service));

  test('is refused for a refund that is not flagged', async () => {
    const refund = await createdRefund(service, 'stripe');
    expect((await resolve(service, refund, 'failed')).kind).toBe('not-flagged');
    expect((await dismissFlag(service.deps, refund, 'cli:ada', 'no')).kind).toBe('not-flagged');
    expect(lasting(await rowOf(service, refund.id))).toEqual(lasting(refund));
  });

  test('needs no answer of the processor about a refund that was never sent', async () => {
    const { id } = await createdRefund(service, 'stripe');
    await service.sandbox.fault({
      processor: 'stripe',
      operation: 'refund.create',
      kind: 'rate-limit',
      times: null,
    });
    await advanceRefund(service.deps, id);
    await service.sandbox.fault({ processor: 'stripe', operation: '*', kind: 'error-503', times: null });
    const outcome = await resolve(service, await flag(id), 'failed');
    expect(outcome).toMatchObject({ kind: 'done', refund: { failureCode: 'resolved_by_person' } });
    await service.deps.db.processorAccount.updateMany({ data: { rateLimits: {} } });
  });

  test('of several people at once is made once, and the others are refused', async () => {
    const flagged = await flaggedUnknown(service, 'stripe', 'reset');
    const outcomes = await Promise.all([
      resolve(service, flagged, 'failed'),
      resolve(service, flagged, 'cancelled'),
      resolve(service, flagged, 'failed'),
    ]);
    const kinds = outcomes.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'done')).toHaveLength(1);
    expect(kinds.filter((kind) => kind === 'leased' || kind === 'not-flagged')).toHaveLength(2);
    expect(await auditOf(service, flagged.id)).toHaveLength(1);
    expect(await reservedFor(flagged)).toBe(0n);
  });

  test('is refused while a worker holds the refund, and says until when', async () => {
    const flagged = await flaggedUnknown(service, 'stripe', 'reset');
    await leaseByHand(service, flagged.id, 60_000);
    const held = await rowOf(service, flagged.id);
    const outcome = await resolve(service, held, 'failed');
    expect(outcome).toMatchObject({ kind: 'leased', until: held.leasedUntil });
    expect(await rowOf(service, flagged.id)).toEqual(held);
  });

  test('cannot name a processor refund that stands for another refund', async () => {
    const other = await completedRefund(service, 'stripe');
    const { id } = await createdRefund(service, 'stripe', { transactionId: other.transactionId });
    await expect(
      resolve(service, await flag(id), 'completed', {
        externalRefundId: other.externalRefundId,
        force: true,
      }),
    ).rejects.toThrow(`already belongs to ${other.id}`);
    expect((await rowOf(service, id)).leasedUntil).toBeNull();
  });

  test('makes a completed refund failed on evidence alone, also with force', async () => {
    const refund = await completedRefund(service, 'stripe');
    const refused = await resolve(service, await flag(refund.id), 'failed', { force: true });
    expect(refused).toMatchObject({ kind: 'contradicted', forceable: false });
    expect((await resolve(service, await rowOf(service, refund.id), 'cancelled')).kind).toBe('not-allowed');
    await service.sandbox.driveRefund(refund.externalRefundId ?? '', { status: 'failed' });
    expect((await resolve(service, await rowOf(service, refund.id), 'failed')).kind).toBe('done');
    expect(await reservedFor(refund)).toBe(0n);
    // The time of its completion stays.
    expect(refund.completedAt).not.toBeNull();
    expect((await rowOf(service, refund.id)).completedAt).toEqual(refund.completedAt);
  });
});

describe('a forced decision', () => {
  test('is recorded as forced, counts what moved as refunded outside, and is flagged by the next read until dismissed', async () => {
    const flagged = await flaggedUnknown(service, 'stripe', 'reset-after-apply');
    const forced = await resolve(service, flagged, 'failed', { force: true });
    expect(forced.kind).toBe('done');
    expect(await lastEventOf(service, flagged)).toMatchObject({
      detail: { forced: true, against: { kind: 'found', facts: { processorStatus: 'pending' } } },
    });
    const { transactionId } = flagged;
    expect(await storedPayment(service, transactionId)).toMatchObject({
      reserved: 0n,
      refundedOutside: 2_500n,
    });
    expect(await remainingFor(flagged)).toBe(7_500);

    const flaggedAgain = await reviewed(service, flagged.id);
    expect(flaggedAgain).toMatchObject({ status: 'failed', flagReason: 'moved_after_end' });
    expect((await dismissFlag(service.deps, flaggedAgain, 'cli:ada', 'He may keep it')).kind).toBe('done');
    const [moved] = await service.sandbox.refunds({ transactionId });
    expect(await lastEventOf(service, flagged)).toMatchObject({
      type: 'flag.dismissed',
      detail: {
        reason: 'He may keep it',
        settled: { reason: 'moved_after_end', facts: { externalRefundId: moved?.id } },
      },
    });
    expect((await auditOf(service, flagged.id)).map(({ action }) => action)).toEqual([
      'refund.resolved',
      'refund.flag_dismissed',
    ]);
    expect((await reviewed(service, flagged.id)).flaggedAt).toBeNull();
    expect(await remainingFor(flagged)).toBe(7_500);

    // Nor is it flagged again in another state: what was pending has moved now.
    await service.sandbox.driveRefund(moved?.id ?? '', { status: 'succeeded' });
    expect((await reviewed(service, flagged.id)).flaggedAt).toBeNull();
  });

  test('is not undone by the evidence that it went against', async () => {
    const flagged = await flaggedUnknown(service, 'stripe', 'reset-after-apply');
    const [moved] = await service.sandbox.refunds({ transactionId: flagged.transactionId });
    const externalRefundId = moved?.id ?? '';
    await service.sandbox.driveRefund(externalRefundId, { status: 'failed' });
    const forced = await resolve(service, flagged, 'completed', { externalRefundId, force: true });
    expect(forced.kind).toBe('done');
    const flaggedAgain = await reviewed(service, flagged.id);
    expect(flaggedAgain).toMatchObject({ status: 'completed', flagReason: 'reversed_there' });
  });

  test('stands against a worker that returns late from the processor', async () => {
    const { id } = await createdRefund(service, 'stripe');
    const answer = holdFirstAnswer(service, 'createRefund');
    const late = advanceRefund(service.deps, id);
    await answer.untilGiven();
    await flag(id);
    await leaseByHand(service, id, 0);
    const outcome = await resolve(service, await rowOf(service, id), 'failed', { force: true });
    expect(outcome.kind).toBe('done');
    const { work: _, ...decided } = await rowOf(service, id);
    answer.release();
    await late;
    // The worker's result does not count any more, and it is not lost: the refund is read again.
    expect(await rowOf(service, id)).toMatchObject({ ...decided, resyncRequestedAt: expect.any(Date) });
    expect(await timelineOf(service, id)).toEqual(['refund.created', 'refund.failed']);
    await advanceRefund(service.deps, id);
    expect(await rowOf(service, id)).toMatchObject({ status: 'failed', flaggedAt: expect.any(Date) });
  });
});
