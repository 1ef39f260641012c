import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RefundStep } from '../../../../shared/refunds/lifecycle/claim.ts';
import { claimRefund } from '../../../../shared/refunds/lifecycle/claim.ts';
import { requestResync } from '../../../../shared/refunds/lifecycle/work.ts';
import { retryDelayMs, settlementDelayMs } from '../../../../shared/refunds/model/backoff.ts';
import {
  canMove,
  holdsReservation,
  initialStatus,
  isTerminal,
  type RefundStatus,
  refundStatuses,
  transitions,
} from '../../../../shared/refunds/model/states.ts';
import { createdRefund } from '../../../support/refunds/flagged-refunds.ts';
import { makeDue } from '../../../support/refunds/refund-records.ts';
import { useService } from '../../../support/use-service.ts';

describe('the state table', () => {
  test('leads only to statuses that exist', () => {
    const targets = Object.values(transitions).flatMap((moves) => Object.keys(moves));
    expect(targets.filter((target) => !refundStatuses.includes(target as RefundStatus))).toEqual([]);
    expect(Object.keys(transitions).toSorted()).toEqual([...refundStatuses].toSorted());
  });

  test('reaches every status', () => {
    const reached = new Set<RefundStatus>([initialStatus(false), initialStatus(true)]);
    for (const status of reached) {
      for (const target of Object.keys(transitions[status])) reached.add(target as RefundStatus);
    }
    expect([...reached].toSorted()).toEqual([...refundStatuses].toSorted());
  });

  test('leaves a terminal status only from completed to failed', () => {
    const exits = refundStatuses
      .filter(isTerminal)
      .flatMap((from) => refundStatuses.filter((to) => canMove(from, to)).map((to) => `${from} -> ${to}`));
    expect(exits).toEqual(['completed -> failed']);
  });

  test('never leads back to awaiting approval', () => {
    expect(refundStatuses.filter((from) => canMove(from, 'pending'))).toEqual([]);
  });

  test.each([
    ['pending', true],
    ['processing', true],
    ['completed', true],
    ['failed', false],
    ['cancelled', false],
  ] as const)('a %s refund counts against the payment: %s', (status, holds) => {
    expect(holdsReservation(status)).toBe(holds);
  });
});

describe('the next step of a refund', () => {
  const service = useService({ workers: 0 });
  const moment = '2026-11-20T10:00:00Z';

  /** What is on record of a refund that has work, in columns. */
  interface Situation {
    status: RefundStatus;
    external_refund_id: string | null;
    unknown_since: string | null;
    cancel_requested_at: string | null;
    resync_requested_at: string | null;
    is_verified: boolean;
  }

  const fresh: Situation = {
    status: 'processing',
    external_refund_id: null,
    unknown_since: null,
    cancel_requested_at: null,
    resync_requested_at: null,
    is_verified: true,
  };

  async function stepsOf(situations: readonly Situation[]): Promise<RefundStep[]> {
    const rows = await service.deps.db.$queryRaw<{ step: RefundStep }[]>`
      SELECT next_refund_step(jsonb_populate_record(NULL::refund, value), jsonb_populate_record(NULL::refund_work, value),
        (value->>'is_verified')::boolean) AS step
      FROM jsonb_array_elements(${JSON.stringify(situations)}::jsonb) WITH ORDINALITY ORDER BY ordinality`;
    return rows.map(({ step }) => step);
  }

  test.each<[string, Partial<Situation>, RefundStep]>([
    ['is sent when it was never sent', {}, 'send'],
    ['is verified first when its payment could not be read', { is_verified: false }, 'verify'],
    ['is looked up when an attempt is unknown', { unknown_since: moment }, 'look_up'],
    [
      'is looked up before a cancellation when an attempt is unknown',
      { unknown_since: moment, cancel_requested_at: moment },
      'look_up',
    ],
    [
      'is cancelled at once when it surely is not at the processor',
      { cancel_requested_at: moment },
      'cancel',
    ],
    ['is checked once the processor has it', { external_refund_id: 're_1' }, 'settle'],
    [
      'is asked back when the processor has it',
      { external_refund_id: 're_1', cancel_requested_at: moment },
      'cancel_at_processor',
    ],
    [
      'is read again when it completed and a resync is requested',
      { status: 'completed', external_refund_id: 're_1', resync_requested_at: moment },
      'review',
    ],
    [
      'is read again when it failed and a resync is requested',
      { status: 'failed', resync_requested_at: moment },
      'review',
    ],
    [
      'is checked for settlement when a resync is requested before its end',
      { external_refund_id: 're_1', resync_requested_at: moment },
      'settle',
    ],
    [
      'is looked up when it was not sent and a resync is requested',
      { resync_requested_at: moment },
      'look_up',
    ],
  ])('%s', async (_promise, situation, step) => {
    expect(await stepsOf([{ ...fresh, ...situation }])).toEqual([step]);
  });

  test('never sends while an attempt is unknown, a cancellation is requested, or the processor has the refund', async () => {
    const either = <T>(one: T) => [null, one];
    const situations = refundStatuses.flatMap((status) =>
      either('re_1').flatMap((external_refund_id) =>
        either(moment).flatMap((unknown_since) =>
          either(moment).flatMap((cancel_requested_at) =>
            either(moment).flatMap((resync_requested_at) =>
              [true, false].map((is_verified) => ({
                status,
                external_refund_id,
                unknown_since,
                cancel_requested_at,
                resync_requested_at,
                is_verified,
              })),
            ),
          ),
        ),
      ),
    );
    expect(situations).toHaveLength(160);
    const steps = await stepsOf(situations);
    expect(situations.filter((_, index) => steps[index] === 'send')).toEqual([fresh]);
  });

  test.each(refundStatuses)('rests when it is %s and has no work', async (status) => {
    const { id } = await createdRefund(service, 'stripe');
    await service.deps.db.$executeRaw`DELETE FROM refund_work WHERE refund_id = ${id}`;
    await setStatus(id, status);
    expect(await claimRefund(service.deps, id)).toBeNull();
  });

  test('cannot be claimed before it is due and during a lease', async () => {
    const { id } = await createdRefund(service, 'stripe');
    const { db } = service.deps;
    await db.$executeRaw`UPDATE refund_work SET due_at = service_time() + interval '1 minute' WHERE refund_id = ${id}`;
    expect(await claimRefund(service.deps, id)).toBeNull();
    await makeDue(service, id);
    expect(await claimRefund(service.deps, id)).toMatchObject({ step: 'send', refund: { id } });
    await makeDue(service, id);
    expect(await claimRefund(service.deps, id)).toBeNull();
  });

  test('cannot be resynced while it awaits approval, nor claimed with only a flag', async () => {
    const { id } = await createdRefund(service, 'stripe');
    const { db } = service.deps;
    await db.$executeRaw`UPDATE refund_work SET due_at = NULL, flagged_at = service_time(), flag_reason = 'outcome_unknown'
      WHERE refund_id = ${id}`;
    await setStatus(id, 'pending');
    expect(await requestResync(db, { id })).toBe(false);
    expect(await claimRefund(service.deps, id)).toBeNull();
  });

  async function setStatus(id: string, status: RefundStatus): Promise<void> {
    const data = { status, externalRefundId: `re_of_${id}`, failureCode: 'declined' };
    await service.deps.db.refund.update({ where: { id }, data });
  }
});

describe('pauses', () => {
  const settings = { baseMs: 1_000, capMs: 60_000 };

  test.each([
    [1, 100, 1_000],
    [2, 200, 2_000],
    [4, 800, 8_000],
    [7, 6_000, 60_000],
    [50, 6_000, 60_000],
  ])('the retry after %i failures comes within %i to %i ms', (failures, least, most) => {
    expect(retryDelayMs(failures, settings, () => 0)).toBe(least);
    expect(retryDelayMs(failures, settings, () => 0.999999)).toBeLessThanOrEqual(most);
  });

  test('never end before Retry-After, up to a day', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 0, max: 1e12 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (failures, retryAfterMs, random) => {
          const delay = retryDelayMs(failures, settings, () => random, retryAfterMs);
          const day = 24 * 60 * 60 * 1000;
          expect(delay).toBeGreaterThanOrEqual(Math.min(retryAfterMs, day));
          expect(delay).toBeLessThanOrEqual(Math.max(day, settings.capMs) + settings.baseMs);
        },
      ),
    );
  });

  test('spread refunds that failed together', () => {
    const delays = Array.from({ length: 100 }, (_, index) => retryDelayMs(5, settings, () => index / 100));
    expect(new Set(delays).size).toBe(100);
  });

  test('grow between settlement checks', () => {
    const delays = [1, 2, 3, 4, 5, 20].map((count) => settlementDelayMs(count, settings, () => 0.5));
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 60_000]);
  });
});
