import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../../../shared/platform/ids.ts';
import {
  contradictionOf,
  type Evidence,
  type ResolvedStatus,
  resolvedStatuses,
} from '../../../../shared/refunds/decisions/evidence.ts';
import { dismissFlag, type Resolution, resolveRefund } from '../../../../shared/refunds/decisions/resolve.ts';
import { flagExtraRefund } from '../../../../shared/refunds/lifecycle/flag.ts';
import { type Flag, flagOf } from '../../../../shared/refunds/model/flags.ts';
import { advanceRefund } from '../../../../worker/advance/advance-refund.ts';
import { stripeClient } from '../../../sandbox/clients.ts';
import { auditOf } from '../../../support/audit-log.ts';
import {
  completedRefund,
  createdRefund,
  flagAtOnce,
  flaggedUnknown,
  reviewed,
} from '../../../support/refunds/flagged-refunds.ts';
import { expectInvariants } from '../../../support/refunds/invariants.ts';
import { refundDirectly } from '../../../support/refunds/refund-directly.ts';
import { type RefundRecord, rowOf, timelineOf } from '../../../support/refunds/refund-records.ts';

import { endWork, flagByHand, leaseByHand } from '../../../support/refunds/refund-work.ts';
import { waitForLock, withClient } from '../../../support/stores/database-client.ts';

import { useService } from '../../../support/use-service.ts';
import { waitFor } from '../../../support/wait-for.ts';

// No worker runs but where a test is one.
const service = useService({ workers: 0, settings: flagAtOnce });

beforeEach(() => service.sandbox.settings({ autoSettleMs: null, latencyMs: 0 }));
afterEach(() => service.sandbox.clearFaults());

const asked: Omit<Resolution, 'status'> = { reason: 'Seen there', externalRefundId: null, force: false };

async function resolve(refund: RefundRecord, status: ResolvedStatus, more: Partial<Resolution> = {}) {
  return await resolveRefund(service.deps, refund, 'cli:ada', { ...asked, status, ...more });
}

async function remainingFor(refund: RefundRecord): Promise<number> {
  const { transactionId } = refund;
  const { body } = await service.call('POST', '/v1/policies/check', { body: { transactionId } });
  return body.data.maxAmount;
}

async function reservedFor({ transactionId }: RefundRecord): Promise<bigint> {
  const { reserved } = await service.deps.db.payment.findFirstOrThrow({ where: { transactionId } });
  return reserved;
}

async function lastEventOf({ id }: RefundRecord) {
  return await service.deps.db.refundEvent.findFirstOrThrow({
    where: { refundId: id },
    orderBy: { seq: 'desc' },
  });
}

/** What a refused decision leaves unchanged. */
function lasting({ leaseToken: _, work: __, ...rest }: RefundRecord) {
  return rest;
}

const flag = (id: string) => flagByHand(service, id);

describe.each(['stripe', 'braintree'])('a flagged refund of unknown outcome at %s', (processor) => {
  afterEach(() => expectInvariants(service));

  test.each(['failed', 'cancelled'] as const)('is resolved as %s when it never arrived', async (status) => {
    const flagged = await flaggedUnknown(service, processor, 'reset');
    expect(await reservedFor(flagged)).toBe(2_500n);
    const outcome = await resolve(flagged, status);
    expect(outcome.kind).toBe('done');
    expect(await rowOf(service, flagged.id)).toMatchObject({
      status,
      flaggedAt: null,
      work: null,
    });
    expect(await reservedFor(flagged)).toBe(0n);
    expect(await remainingFor(flagged)).toBe(10_000);
    const detail = { reason: 'Seen there', settled: flagOf(flagged), forced: false };
    expect(await lastEventOf(flagged)).toMatchObject({ type: `refund.${status}`, actor: 'cli:ada', detail });
    expect(await auditOf(service, flagged.id)).toMatchObject([
      { action: 'refund.resolved', actor: 'cli:ada', detail: { ...detail, as: status } },
    ]);
    expect((await reviewed(service, flagged.id)).flaggedAt).toBeNull();
  });

  test('is resolved as completed only under the id of a refund that the payment has', async () => {
    const flagged = await flaggedUnknown(service, processor, 'reset-after-apply');
    const [moved] = await service.sandbox.refunds({ transactionId: flagged.transactionId });
    const externalRefundId = moved?.id ?? '';
    await expect(resolve(flagged, 'completed')).rejects.toThrow('enter the ID of the completed refund');
    const status = processor === 'stripe' ? 'succeeded' : 'settled';
    const wrong = await resolve(flagged, 'completed', { externalRefundId: 'something_else' });
    expect(wrong).toMatchObject({ kind: 'contradicted', evidence: expect.stringContaining('has no refund') });
    const early = await resolve(await rowOf(service, flagged.id), 'completed', { externalRefundId });
    expect(early).toMatchObject({
      kind: 'contradicted',
      evidence: expect.stringContaining(externalRefundId),
    });
    await service.sandbox.driveRefund(externalRefundId, { status });
    const outcome = await resolve(await rowOf(service, flagged.id), 'completed', { externalRefundId });
    expect(outcome.kind).toBe('done');
    expect(await rowOf(service, flagged.id)).toMatchObject({ status: 'completed', externalRefundId });
    expect(await remainingFor(flagged)).toBe(7_500);
  });

  test.each(['failed', 'cancelled'] as const)(
    'is not resolved as %s while the processor has it',
    async (status) => {
      const flagged = await flaggedUnknown(service, processor, 'reset-after-apply');
      const outcome = await resolve(flagged, status);
      expect(outcome).toMatchObject({ kind: 'contradicted', forceable: true });
      expect(lasting(await rowOf(service, flagged.id))).toEqual(lasting(flagged));
      expect(await auditOf(service, flagged.id)).toEqual([]);
      expect((await lastEventOf(flagged)).type).toBe('attempt.unknown');
    },
  );

  test('is not resolved as failed while the processor cannot be read', async () => {
    const flagged = await flaggedUnknown(service, processor, 'reset');
    await service.sandbox.fault({ processor, operation: '*', kind: 'error-503', times: null });
    expect(await resolve(flagged, 'failed')).toMatchObject({
      kind: 'contradicted',
      evidence: expect.stringContaining('could not be read'),
    });
    expect(lasting(await rowOf(service, flagged.id))).toEqual(lasting(flagged));
  });

  test('is not resolved as failed before a lookup is proof', async () => {
    const flagged = await flaggedUnknown(service, processor, 'reset');
    const patient = { ...service.deps, settings: { ...service.settings, LOOKUP_SETTLE_DELAY_MS: 60_000 } };
    const outcome = await resolveRefund(patient, flagged, 'cli:ada', { ...asked, status: 'failed' });
    expect(outcome).toMatchObject({
      kind: 'contradicted',
      evidence: expect.stringContaining('is conclusive from'),
    });
  });
});

describe('a decision', () => {
  afterEach(() => expectInvariants(service));

  test('is refused for a refund that is not flagged', async () => {
    const refund = await createdRefund(service, 'stripe');
    expect((await resolve(refund, 'failed')).kind).toBe('not-flagged');
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
    const outcome = await resolve(await flag(id), 'failed');
    expect(outcome).toMatchObject({ kind: 'done', refund: { failureCode: 'resolved_by_person' } });
    await service.deps.db.processorAccount.updateMany({ data: { throttledUntil: null } });
  });

  test('requires a printable reason', async () => {
    const flagged = await flaggedUnknown(service, 'stripe', 'reset');
    await expect(resolve(flagged, 'failed', { reason: ' \t ' })).rejects.toThrow('reason: must be');
    await expect(dismissFlag(service.deps, flagged, 'cli:ada', 'a\u0007b')).rejects.toThrow('reason');
    expect(lasting(await rowOf(service, flagged.id))).toEqual(lasting(flagged));
  });

  test('of several people at once is made once, and the others are refused', async () => {
    const flagged = await flaggedUnknown(service, 'stripe', 'reset');
    const outcomes = await Promise.all([
      resolve(flagged, 'failed'),
      resolve(flagged, 'cancelled'),
      resolve(flagged, 'failed'),
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
    const outcome = await resolve(held, 'failed');
    expect(outcome).toMatchObject({ kind: 'leased', until: held.leasedUntil });
    expect(await rowOf(service, flagged.id)).toEqual(held);
  });

  test('keeps workers away while the processor is read', async () => {
    const flagged = await flaggedUnknown(service, 'stripe', 'reset');
    await service.sandbox.settings({ latencyMs: 200 });
    const deciding = resolve(flagged, 'failed');
    await waitFor(
      'the decision to hold the refund',
      async () => (await rowOf(service, flagged.id)).leaseToken !== flagged.leaseToken,
    );
    await reviewed(service, flagged.id);
    expect((await deciding).kind).toBe('done');
    expect(await timelineOf(service, flagged.id)).toEqual([
      'refund.created',
      'attempt.started',
      'attempt.unknown',
      'refund.failed',
    ]);
  });

  test('cannot name a processor refund that stands for another refund', async () => {
    const other = await completedRefund(service, 'stripe');
    const { id } = await createdRefund(service, 'stripe', { transactionId: other.transactionId });
    await expect(
      resolve(await flag(id), 'completed', { externalRefundId: other.externalRefundId, force: true }),
    ).rejects.toThrow(`already belongs to ${other.id}`);
    expect((await rowOf(service, id)).leasedUntil).toBeNull();
  });

  test('cannot name a refund made outside of this service while ours is at the processor as well', async () => {
    const refund = await flaggedUnknown(service, 'stripe', 'reset-after-apply');
    const { transactionId } = refund;
    const named = await refundDirectly(service, { processor: 'stripe', transactionId, amount: 2_500 });
    await service.sandbox.driveRefund(named, { status: 'succeeded' });
    const outcome = await resolve(refund, 'completed', { externalRefundId: named });
    expect(outcome).toMatchObject({ kind: 'contradicted', evidence: expect.stringContaining('besides') });
    expect((await rowOf(service, refund.id)).status).toBe('processing');
  });

  test('can name a refund of the same payment that was made outside of this service', async () => {
    const flagged = await flaggedUnknown(service, 'stripe', 'reset');
    const { refunds } = stripeClient(service.sandboxUrl);
    const made = await refunds.create({ charge: flagged.transactionId, amount: 2_500 });
    await service.sandbox.driveRefund(made.id, { status: 'succeeded' });
    const outcome = await resolve(flagged, 'completed', { externalRefundId: made.id });
    expect(outcome.kind).toBe('done');
    expect(await remainingFor(flagged)).toBe(7_500);
  });

  test('makes a completed refund failed on evidence alone, also with force', async () => {
    const refund = await completedRefund(service, 'stripe');
    const refused = await resolve(await flag(refund.id), 'failed', { force: true });
    expect(refused).toMatchObject({ kind: 'contradicted', forceable: false });
    expect((await resolve(await rowOf(service, refund.id), 'cancelled')).kind).toBe('not-allowed');
    await service.sandbox.driveRefund(refund.externalRefundId ?? '', { status: 'failed' });
    expect((await resolve(await rowOf(service, refund.id), 'failed')).kind).toBe('done');
    expect(await reservedFor(refund)).toBe(0n);
  });
});

describe('a forced decision', () => {
  test('is recorded as forced, counts what moved as refunded outside, and is flagged by the next read until dismissed', async () => {
    const flagged = await flaggedUnknown(service, 'stripe', 'reset-after-apply');
    const forced = await resolve(flagged, 'failed', { force: true });
    expect(forced.kind).toBe('done');
    expect(await lastEventOf(flagged)).toMatchObject({
      detail: { forced: true, against: { kind: 'found', facts: { processorStatus: 'pending' } } },
    });
    const { transactionId } = flagged;
    const payment = await service.deps.db.payment.findFirstOrThrow({ where: { transactionId } });
    expect(payment).toMatchObject({ reserved: 0n, refundedOutside: 2_500n });
    expect(await remainingFor(flagged)).toBe(7_500);

    const flaggedAgain = await reviewed(service, flagged.id);
    expect(flaggedAgain).toMatchObject({ status: 'failed', flagReason: 'moved_after_end' });
    expect((await dismissFlag(service.deps, flaggedAgain, 'cli:ada', 'He may keep it')).kind).toBe('done');
    const [moved] = await service.sandbox.refunds({ transactionId });
    expect(await lastEventOf(flagged)).toMatchObject({
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
    const forced = await resolve(flagged, 'completed', { externalRefundId, force: true });
    expect(forced.kind).toBe('done');
    const flaggedAgain = await reviewed(service, flagged.id);
    expect(flaggedAgain).toMatchObject({
      status: 'completed',
      flagReason: 'reversed_there',
    });
  });

  test('stands against a worker that returns late from the processor', async () => {
    const { id } = await createdRefund(service, 'stripe');
    const delayed = { operation: 'refund.create', kind: 'delay', delayMs: 600 };
    await service.sandbox.fault({ processor: 'stripe', ...delayed });
    const late = advanceRefund(service.deps, id);
    await waitFor('the worker to be sending', async () => (await rowOf(service, id)).attemptCount === 1);
    await flag(id);
    await leaseByHand(service, id, 0);
    const outcome = await resolve(await rowOf(service, id), 'failed', { force: true });
    expect(outcome.kind).toBe('done');
    const { work: _, ...decided } = await rowOf(service, id);
    await late;
    // The worker's result does not count any more, and it is not lost: the refund is read again.
    expect(await rowOf(service, id)).toMatchObject({ ...decided, resyncRequestedAt: expect.any(Date) });
    expect(await timelineOf(service, id)).toEqual(['refund.created', 'attempt.started', 'refund.failed']);
    await advanceRefund(service.deps, id);
    expect(await rowOf(service, id)).toMatchObject({ status: 'failed', flaggedAt: expect.any(Date) });
  });

  test('is compared with the processor again when it went against the evidence', async () => {
    const { id } = await createdRefund(service, 'stripe');
    await advanceRefund(service.deps, id);
    await flag(id);
    const outcome = await resolve(await rowOf(service, id), 'failed', { force: true });
    expect(outcome.kind).toBe('done');
    await advanceRefund(service.deps, id);
    const { flagReason, resyncRequestedAt, dueAt } = await rowOf(service, id);
    expect(flagReason).toBe('moved_after_end');
    expect([resyncRequestedAt, dueAt]).toEqual([null, null]);
  });
});

describe('evidence about a refund of 25.00 USD', () => {
  const refund = { id: 'ref_1', amount: 2_500n, currency: 'usd' };
  const found = (state: 'open' | 'completed' | 'failed' | 'cancelled', more = {}): Evidence => ({
    kind: 'found',
    refund: {
      id: 're_1',
      amount: 2_500n,
      currency: 'usd',
      state,
      processorStatus: state,
      refundId: 'ref_1',
      failure: null,
      ...more,
    },
  });
  const absent: Evidence = { kind: 'absent', message: 'absent' };
  const unclear: Evidence = { kind: 'unclear', message: 'unclear' };

  test.each<[string, Evidence, ResolvedStatus[]]>([
    ['open there', found('open'), []],
    ['completed there', found('completed'), ['completed']],
    ['completed there, without our name', found('completed', { refundId: null }), ['completed']],
    [
      "completed there, under the shop's own name",
      found('completed', { refundId: 'order-1' }),
      ['completed'],
    ],
    ['completed there, of another refund', found('completed', { refundId: 'ref_2' }), []],
    ['completed there, another amount', found('completed', { amount: 2_400n }), []],
    ['completed there, another currency', found('completed', { currency: 'eur' }), []],
    ['failed there', found('failed'), ['failed', 'cancelled']],
    ['cancelled there', found('cancelled'), ['failed', 'cancelled']],
    ['absent there', absent, ['failed', 'cancelled']],
    ['unclear', unclear, []],
  ])('that is %s allows these statuses without force', (_title, evidence, allowed) => {
    expect(resolvedStatuses.filter((status) => contradictionOf(refund, status, evidence) === null)).toEqual(
      allowed,
    );
  });
});

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
    expect(await lastEventOf(before)).toMatchObject({ type: 'flag.dismissed', detail: { settled: extra } });
  });

  test('sends nothing: a refund that awaits approval still does', async () => {
    const { id } = await createdRefund(service, 'stripe');
    await endWork(service, id);
    await service.deps.db.refund.update({ where: { id }, data: { status: 'pending' } });
    await flagByHand(service, id, extra);
    expect((await dismiss(await rowOf(service, id))).kind).toBe('done');
    await advanceRefund(service.deps, id);
    expect(await rowOf(service, id)).toMatchObject({ status: 'pending', work: null, attempts: [] });
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

  test('is refused for a flag that was raised after the person looked', async () => {
    const refund = await completedRefund(service, 'stripe');
    await flagByHand(service, refund.id, { reason: 'missing_there', facts: { externalRefundId: 're_1' } });
    const seen = await rowOf(service, refund.id);
    const { db } = service.deps;
    await db.refundWork.update({ where: { refundId: refund.id }, data: { flaggedAt: new Date(0) } });
    expect((await dismissFlag(service.deps, seen, 'cli:ada', 'Known')).kind).toBe('changed');
    expect((await rowOf(service, refund.id)).flaggedAt).not.toBeNull();
  });
});

test('a flag for an extra refund waits for a move of the refund, and is left out once it has moved', async () => {
  const { db } = service.deps;
  const refund = await createdRefund(service, 'stripe');
  const facts = { externalRefundId: 're_other' };
  let flagged: Promise<boolean> | null = null;
  await withClient(service.settings.DATABASE_URL, async (client) => {
    await client.query('begin');
    await client.query('select from refund_work where refund_id = $1 for update', [refund.id]);
    const move = { event_id: newId('evt'), type: 'refund.cancelled', to: 'cancelled', detail: {} };
    await client.query(`select move_refunds($1, 'worker', service_time())`, [
      JSON.stringify([{ refund_id: refund.id, expected: 'processing', entries: [move], change: {} }]),
    ]);
    flagged = db.$transaction((tx) => flagExtraRefund(tx, refund, facts, 'worker'));
    await waitForLock(client);
    await client.query('delete from refund_work where refund_id = $1', [refund.id]);
    await client.query('commit');
  });
  expect(await flagged).toBe(false);
  expect(await rowOf(service, refund.id)).toMatchObject({ status: 'cancelled', work: null });
  expect(await timelineOf(service, refund.id)).toEqual(['refund.created', 'refund.cancelled']);
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
    await service.sandbox.settings({ latencyMs: 400 });
    const deciding = resolve(flagged, 'completed');
    await waitFor(
      'the lease',
      async () => (await rowOf(service, flagged.id)).leaseToken !== flagged.leaseToken,
    );
    await meanwhile();
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

  test('is not resolved once another person has dismissed it', async () => {
    const id = await acceptedAndSettled();
    const facts = { externalRefundId: 're_extra' };
    const flagged = await flagByHand(service, id, { reason: 'extra_refund', facts });
    const outcome = await resolveWhile(flagged, () => dismissFlag(service.deps, flagged, 'cli:bob', 'Known'));
    expect(outcome.kind).toBe('not-flagged');
    expect((await rowOf(service, id)).status).toBe('processing');
  });
});

test('flags a refund again that the processor loses after a resolution it agreed with', async () => {
  const { id } = await createdRefund(service, 'stripe');
  await advanceRefund(service.deps, id);
  const { externalRefundId } = await rowOf(service, id);
  await service.sandbox.driveRefund(externalRefundId ?? '', { status: 'succeeded' });
  const flag = { reason: 'missing_there', facts: { externalRefundId: 're_gone' } } as const;
  const flagged = await flagByHand(service, id, flag);
  expect((await resolve(flagged, 'completed')).kind).toBe('done');
  await service.deps.db.refund.update({ where: { id }, data: { externalRefundId: 're_gone' } });
  expect((await reviewed(service, id)).flagReason).toBe('missing_there');
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
