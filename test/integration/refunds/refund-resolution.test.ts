import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../../shared/platform/ids.ts';
import {
  contradictionOf,
  type Evidence,
  type ResolvedStatus,
} from '../../../shared/refunds/decisions/evidence.ts';
import { keepRefund, type Resolution, resolveRefund } from '../../../shared/refunds/decisions/resolve.ts';
import { flagExtraRefund } from '../../../shared/refunds/lifecycle/flag.ts';
import { advanceRefund } from '../../../worker/advance/advance-refund.ts';
import { stripeClient } from '../../sandbox/clients.ts';
import { auditOf } from '../../support/audit-log.ts';
import {
  completedRefund,
  createdRefund,
  flagAtOnce,
  flaggedUnknown,
  reviewed,
} from '../../support/refunds/flagged-refunds.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { refundDirectly } from '../../support/refunds/refund-directly.ts';
import { type RefundRecord, rowOf, timelineOf } from '../../support/refunds/refund-records.ts';
import { flagByHand, leaseByHand } from '../../support/refunds/refund-work.ts';
import { waitForLock, withClient } from '../../support/stores/database-client.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

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

/** What a decision that was not made leaves as it was. */
function lasting({ leaseToken: _, work: __, ...rest }: RefundRecord) {
  return rest;
}

const flag = (id: string) => flagByHand(service, id);

describe.each(['stripe', 'braintree'])('a flagged refund of unknown fate at %s', (processor) => {
  afterEach(() => expectInvariants(service));

  test.each(['failed', 'cancelled'] as const)('is %s by a person when it never got there', async (status) => {
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
    const detail = { reason: 'Seen there', problem: flagged.flagReason, forced: false };
    expect(await lastEventOf(flagged)).toMatchObject({ type: `refund.${status}`, actor: 'cli:ada', detail });
    expect(await auditOf(service, flagged.id)).toMatchObject([
      { action: 'refund.resolved', actor: 'cli:ada', detail: { ...detail, as: status } },
    ]);
    expect((await reviewed(service, flagged.id)).flaggedAt).toBeNull();
  });

  test('is completed by a person only under the id of a refund that the payment really has', async () => {
    const flagged = await flaggedUnknown(service, processor, 'reset-after-apply');
    const [moved] = await service.sandbox.refunds({ transactionId: flagged.transactionId });
    const externalRefundId = moved?.id ?? '';
    await expect(resolve(flagged, 'completed')).rejects.toThrow('has to name the refund');
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
    'is not %s while the processor has it, and nothing changes',
    async (status) => {
      const flagged = await flaggedUnknown(service, processor, 'reset-after-apply');
      const outcome = await resolve(flagged, status);
      expect(outcome).toMatchObject({ kind: 'contradicted', forceable: true });
      expect(lasting(await rowOf(service, flagged.id))).toEqual(lasting(flagged));
      expect(await auditOf(service, flagged.id)).toEqual([]);
      expect((await lastEventOf(flagged)).type).toBe('attempt.unknown');
    },
  );

  test('is not failed while the processor cannot be asked', async () => {
    const flagged = await flaggedUnknown(service, processor, 'reset');
    await service.sandbox.fault({ processor, operation: '*', kind: 'error-503', times: null });
    expect(await resolve(flagged, 'failed')).toMatchObject({
      kind: 'contradicted',
      evidence: expect.stringContaining('could not say'),
    });
    expect(lasting(await rowOf(service, flagged.id))).toEqual(lasting(flagged));
  });

  test('is not failed before a lookup that finds nothing is proof', async () => {
    const flagged = await flaggedUnknown(service, processor, 'reset');
    const patient = { ...service.deps, settings: { ...service.settings, LOOKUP_SETTLE_DELAY_MS: 60_000 } };
    const outcome = await resolveRefund(patient, flagged, 'cli:ada', { ...asked, status: 'failed' });
    expect(outcome).toMatchObject({
      kind: 'contradicted',
      evidence: expect.stringContaining('proves nothing'),
    });
  });
});

describe('a decision', () => {
  afterEach(() => expectInvariants(service));

  test('is about flagged refunds alone', async () => {
    const refund = await createdRefund(service, 'stripe');
    expect((await resolve(refund, 'failed')).kind).toBe('not-flagged');
    expect((await keepRefund(service.deps, refund, 'cli:ada', 'no')).kind).toBe('not-flagged');
    expect(lasting(await rowOf(service, refund.id))).toEqual(lasting(refund));
  });

  test('needs no answer of the processor about a refund that was surely never there', async () => {
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

  test('needs a reason', async () => {
    const flagged = await flaggedUnknown(service, 'stripe', 'reset');
    await expect(resolve(flagged, 'failed', { reason: ' \t ' })).rejects.toThrow('reason: has to be');
    await expect(keepRefund(service.deps, flagged, 'cli:ada', 'a\u0007b')).rejects.toThrow('reason');
    expect(lasting(await rowOf(service, flagged.id))).toEqual(lasting(flagged));
  });

  test('of two people at once is made once, and the other one is told', async () => {
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

  test('waits while a worker holds the refund, and tells until when', async () => {
    const flagged = await flaggedUnknown(service, 'stripe', 'reset');
    await leaseByHand(service, flagged.id, 60_000);
    const held = await rowOf(service, flagged.id);
    const outcome = await resolve(held, 'failed');
    expect(outcome).toMatchObject({ kind: 'leased', until: held.leasedUntil });
    expect(await rowOf(service, flagged.id)).toEqual(held);
  });

  test('keeps a worker away while the processor is asked', async () => {
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

  test('names no processor refund that stands for another refund already', async () => {
    const other = await completedRefund(service, 'stripe');
    const { id } = await createdRefund(service, 'stripe', { transactionId: other.transactionId });
    await expect(
      resolve(await flag(id), 'completed', { externalRefundId: other.externalRefundId, force: true }),
    ).rejects.toThrow(`is ${other.id} already`);
    expect((await rowOf(service, id)).leasedUntil).toBeNull();
  });

  test('may not name one made past this service while ours is there, too', async () => {
    const refund = await flaggedUnknown(service, 'stripe', 'reset-after-apply');
    const { transactionId } = refund;
    const named = await refundDirectly(service, { processor: 'stripe', transactionId, amount: 2_500 });
    await service.sandbox.driveRefund(named, { status: 'succeeded' });
    const outcome = await resolve(refund, 'completed', { externalRefundId: named });
    expect(outcome).toMatchObject({ kind: 'contradicted', evidence: expect.stringContaining('besides') });
    expect((await rowOf(service, refund.id)).status).toBe('processing');
  });

  test('may name a refund that was made past this service, of the same payment', async () => {
    const flagged = await flaggedUnknown(service, 'stripe', 'reset');
    const { refunds } = stripeClient(service.sandboxUrl);
    const made = await refunds.create({ charge: flagged.transactionId, amount: 2_500 });
    await service.sandbox.driveRefund(made.id, { status: 'succeeded' });
    const outcome = await resolve(flagged, 'completed', { externalRefundId: made.id });
    expect(outcome.kind).toBe('done');
    expect(await remainingFor(flagged)).toBe(7_500);
  });

  test('makes a completed refund failed on evidence alone, however much it is insisted on', async () => {
    const refund = await completedRefund(service, 'stripe');
    const refused = await resolve(await flag(refund.id), 'failed', { force: true });
    expect(refused).toMatchObject({ kind: 'contradicted', forceable: false });
    expect((await resolve(await rowOf(service, refund.id), 'cancelled')).kind).toBe('not-allowed');
    await service.sandbox.driveRefund(refund.externalRefundId ?? '', { status: 'failed' });
    expect((await resolve(await rowOf(service, refund.id), 'failed')).kind).toBe('done');
    expect(await reservedFor(refund)).toBe(0n);
  });
});

describe('what a person insists on', () => {
  test('is written down as such, what moved counts as refunded outside, and the next reading tells it again', async () => {
    const flagged = await flaggedUnknown(service, 'stripe', 'reset-after-apply');
    const forced = await resolve(flagged, 'failed', { force: true });
    expect(forced.kind).toBe('done');
    expect(await lastEventOf(flagged)).toMatchObject({
      detail: { forced: true, against: expect.stringContaining('pending') },
    });
    const { transactionId } = flagged;
    const payment = await service.deps.db.payment.findFirstOrThrow({ where: { transactionId } });
    expect(payment).toMatchObject({ reserved: 0n, refundedOutside: 2_500n });
    expect(await remainingFor(flagged)).toBe(7_500);

    const told = await reviewed(service, flagged.id);
    expect(told).toMatchObject({ status: 'failed', flagReason: expect.stringContaining('have moved') });
    expect((await keepRefund(service.deps, told, 'cli:ada', 'He may keep it')).kind).toBe('done');
    const [moved] = await service.sandbox.refunds({ transactionId });
    expect(await lastEventOf(flagged)).toMatchObject({
      type: 'review.kept',
      detail: {
        ...{ reason: 'He may keep it', problem: told.flagReason },
        ...{ kind: 'moved_after_end', externalRefundId: moved?.id },
      },
    });
    expect((await auditOf(service, flagged.id)).map(({ action }) => action)).toEqual([
      'refund.resolved',
      'refund.kept',
    ]);
    expect((await reviewed(service, flagged.id)).flaggedAt).toBeNull();
    expect(await remainingFor(flagged)).toBe(7_500);

    // Nor is it told again in other words: what was pending there has moved now, as the person was told it might.
    await service.sandbox.driveRefund(moved?.id ?? '', { status: 'succeeded' });
    expect((await reviewed(service, flagged.id)).flaggedAt).toBeNull();
  });

  test('is not undone by the word that it was decided against', async () => {
    const flagged = await flaggedUnknown(service, 'stripe', 'reset-after-apply');
    const [moved] = await service.sandbox.refunds({ transactionId: flagged.transactionId });
    const externalRefundId = moved?.id ?? '';
    await service.sandbox.driveRefund(externalRefundId, { status: 'failed' });
    const forced = await resolve(flagged, 'completed', { externalRefundId, force: true });
    expect(forced.kind).toBe('done');
    const told = await reviewed(service, flagged.id);
    expect(told).toMatchObject({
      status: 'completed',
      flagReason: expect.stringContaining('A person has called it completed'),
    });
  });

  test('stands against a worker that comes back late from the processor', async () => {
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
    // What the worker has learnt does not count any more, and it is not lost: somebody reads the refund again.
    expect(await rowOf(service, id)).toMatchObject({ ...decided, resyncRequestedAt: expect.any(Date) });
    expect(await timelineOf(service, id)).toEqual(['refund.created', 'attempt.started', 'refund.failed']);
    await advanceRefund(service.deps, id);
    expect(await rowOf(service, id)).toMatchObject({ status: 'failed', flaggedAt: expect.any(Date) });
  });

  test('is held against the processor again when it was made against the evidence', async () => {
    const { id } = await createdRefund(service, 'stripe');
    await advanceRefund(service.deps, id);
    await flag(id);
    const outcome = await resolve(await rowOf(service, id), 'failed', { force: true });
    expect(outcome.kind).toBe('done');
    await advanceRefund(service.deps, id);
    const { flagReason, resyncRequestedAt, dueAt } = await rowOf(service, id);
    expect(flagReason).toContain('It is failed here');
    expect([resyncRequestedAt, dueAt]).toEqual([null, null]);
  });
});

describe('the evidence about a refund of 25.00 USD', () => {
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
  ])('when it is %s, allows this without force', (_title, evidence, allowed) => {
    const statuses: ResolvedStatus[] = ['completed', 'failed', 'cancelled'];
    expect(statuses.filter((status) => contradictionOf(refund, status, evidence) === null)).toEqual(allowed);
  });
});

test('a flag for another refund waits for whoever moves the refund, and is left out once it has moved', async () => {
  const { db } = service.deps;
  const refund = await createdRefund(service, 'stripe');
  const entry = { type: 'reconciliation.flagged', actor: 'worker' } as const;
  const flagging = { reason: 'Another one', extraRefundId: 're_other' };
  let flagged: Promise<boolean> | null = null;
  await withClient(service.settings.DATABASE_URL, async (client) => {
    await client.query('begin');
    await client.query('select from refund_work where refund_id = $1 for update', [refund.id]);
    const move = { event_id: newId('evt'), type: 'refund.cancelled', to: 'cancelled', detail: {} };
    await client.query(`select move_refunds($1, 'worker', service_time())`, [
      JSON.stringify([{ refund_id: refund.id, expected: 'processing', entries: [move], change: {} }]),
    ]);
    flagged = db.$transaction((tx) => flagExtraRefund(tx, refund, flagging, entry));
    await waitForLock(client);
    await client.query('delete from refund_work where refund_id = $1', [refund.id]);
    await client.query('commit');
  });
  expect(await flagged).toBe(false);
  expect(await rowOf(service, refund.id)).toMatchObject({ status: 'cancelled', work: null });
  expect(await timelineOf(service, refund.id)).toEqual(['refund.created', 'refund.cancelled']);
});
