import { afterEach, expect, test, vi } from 'vitest';
import type { Dependencies } from '#shared/dependencies.ts';
import { serviceTime } from '#shared/platform/database.ts';
import { newId } from '#shared/platform/ids.ts';
import type { Processor } from '#shared/processors/contract/processor.ts';
import { requestResync } from '#shared/refunds/changes/work.ts';
import { recordStep } from '#shared/refunds/lifecycle/record.ts';
import { refundStatuses } from '#shared/refunds/model/states.ts';
import { PROCESSORS } from '#test/sandbox/processors.ts';
import { advanceRefund } from '#test/support/refunds/advance-refund.ts';
import { createdRefund } from '#test/support/refunds/flagged-refunds.ts';
import { expectInvariants } from '#test/support/refunds/invariants.ts';
import { makeDue, rowOf, timelineOf } from '#test/support/refunds/refund-records.ts';
import { useService } from '#test/support/use-service.ts';
import { waitFor } from '#test/support/wait-for.ts';

const service = useService({ workers: 0, settings: { FLAG_UNKNOWN_AFTER_MS: 0 } });

afterEach(async () => {
  vi.restoreAllMocks();
  await expectInvariants(service);
});

/** A worker whose calls of the processor fail on this side, as a bug in an adapter would make them. */
function brokenWorker(): Dependencies {
  const fail = async () => {
    throw new TypeError('A bug');
  };
  const processor = new Proxy({} as Processor, { get: (_, name) => (name === 'then' ? undefined : fail) });
  const connections = { connect: async () => processor } as unknown as Dependencies['connections'];
  return { ...service.deps, connections };
}

test('counts, retries and flags a step that fails on our side, and keeps its outcome unknown', async () => {
  const { id } = await createdRefund(service, 'stripe');
  const before = await serviceTime(service.deps.db);
  await advanceRefund(brokenWorker(), id);
  const { work } = await rowOf(service, id);
  expect(work).toMatchObject({ consecutiveFailures: 1, leasedUntil: null, flagReason: expect.any(String) });
  expect(work?.unknownSince).not.toBeNull();
  expect(work?.dueAt?.getTime()).toBeGreaterThan(before.getTime());
  await makeDue(service, id);
  await advanceRefund(brokenWorker(), id);
  expect(await timelineOf(service, id)).toEqual(['refund.created', 'attempt.unknown', 'lookup.unanswered']);
});

test('counts, retries and flags a review that fails on our side, and keeps the status', async () => {
  const { id } = await createdRefund(service, 'stripe');
  expect((await service.call('POST', `/v1/refunds/${id}/cancel`)).status).toBe(200);
  await requestResync(service.deps.db, { id });
  await advanceRefund(brokenWorker(), id);
  const { status, work } = await rowOf(service, id);
  expect({ status, work }).toMatchObject({
    status: 'cancelled',
    work: { consecutiveFailures: 1, leasedUntil: null, flagReason: 'no_answer' },
  });
  expect(await timelineOf(service, id)).toEqual(['refund.created', 'refund.cancelled', 'review.flagged']);
});

test.each(['cancellation', 'resync'] as const)(
  'takes the next step at once when a %s is requested while a refund is being sent',
  async (request) => {
    const { id } = await createdRefund(service, 'stripe');
    const { statements, db } = service.deps;
    const record = statements.record.bind(statements);
    const claim = vi.spyOn(statements, 'claim');
    vi.spyOn(statements, 'record').mockImplementationOnce(async (outcome) => {
      if (request === 'resync') await requestResync(db, { id });
      else {
        const headers = { prefer: 'respond-async' };
        expect((await service.call('POST', `/v1/refunds/${id}/cancel`, { headers })).status).toBe(409);
      }
      return await record(outcome);
    });
    await advanceRefund(service.deps, id);
    const steps = await Promise.all(claim.mock.results.map(async ({ value }) => (await value)?.step));
    expect(steps).toEqual(['send', request === 'resync' ? 'settle' : 'cancel_at_processor']);
  },
);

test.each(PROCESSORS)(
  'does not fail a refund of a payment that the credentials of another account at %s do not find',
  async (processor) => {
    const { id, transactionId } = await createdRefund(service, processor);
    const { paymentId } = await rowOf(service, id);
    const sendFor = async (payment: string) => {
      await service.deps.db.payment.update({ where: { id: paymentId }, data: { externalId: payment } });
      await makeDue(service, id);
      await advanceRefund(service.deps, id);
      return await rowOf(service, id);
    };
    const missing = processor === 'stripe' ? 'ch_missing' : 'missing';
    const unusable = { status: 'processing', flagReason: 'account_unusable' };
    expect(await sendFor(missing)).toMatchObject({ ...unusable, unknownSince: null });
    // That account cannot tell what became of an earlier attempt.
    expect(await sendFor(missing)).toMatchObject({ ...unusable, unknownSince: expect.any(Date) });
    const accepted = await waitFor('the refund to be sent', async () => {
      const refund = await sendFor(transactionId);
      return refund.externalRefundId === null ? null : refund;
    });
    expect(accepted.flagReason).toBeNull();
    expect(await timelineOf(service, id)).toContain('lookup.absent');
  },
);

test.each([
  ['verify', null],
  ['send', expect.any(Date)],
])(
  'a late result of the step %s has the refund read again only if it may be at the processor',
  async (step, resyncRequestedAt) => {
    const { db, statements } = service.deps;
    const { id } = await createdRefund(service, 'braintree');
    const { paymentId } = await rowOf(service, id);
    if (step === 'verify') await db.payment.update({ where: { id: paymentId }, data: { currency: 'gbp' } });
    const claim = await statements.claim(id);
    if (claim === null) throw new Error('It was not claimed.');
    expect(claim.step).toBe(step);
    await db.refundWork.update({ where: { refundId: id }, data: { leasedUntil: new Date(0) } });
    expect(await statements.claim(id)).not.toBeNull();
    const failure = { code: 'timeout', message: 'No answer.' };
    const late = { kind: 'not_applied', cause: 'unreachable', failure, flag: undefined, dueInMs: 0 } as const;
    expect(await recordStep(service.deps, claim, late)).toMatchObject({ result: 'lost' });
    expect((await rowOf(service, id)).work).toMatchObject({ resyncRequestedAt });
  },
);

test.each([
  'attempt.unknown',
  'attempt.misconfigured',
  'lookup.inconclusive',
  'lookup.flagged',
  'settlement.progress',
])(
  'the outcome of an attempt stays unknown where the timeline says %s, whatever else is recorded',
  async (type) => {
    const { id } = await createdRefund(service, 'stripe');
    const claim = await service.deps.statements.claim(id);
    const item = {
      ...{ refund_id: id, lease_token: Number(claim?.work.leaseToken), expected: 'processing', change: {} },
      ...{ entries: [{ event_id: newId('evt'), type, to: 'processing' }], ends_attempt: true, due_in_ms: 0 },
      is_refused: type !== 'attempt.misconfigured',
    };
    await service.deps.db.$queryRaw`SELECT outcome FROM record_refunds(${JSON.stringify([item])}::jsonb)`;
    expect(await rowOf(service, id)).toMatchObject({ unknownSince: expect.any(Date) });
    expect(await service.deps.statements.claim(id)).toMatchObject({ step: 'look_up' });
  },
);

test('a refund is never sent while an attempt is unknown, a cancellation is requested, or the processor has the refund', async () => {
  const either = <T>(one: T) => [null, one];
  const situations = refundStatuses.flatMap((status) =>
    either('re_1').flatMap((external_refund_id) =>
      either('2026-11-20T10:00:00Z').flatMap((unknown_since) =>
        either('2026-11-20T10:00:00Z').flatMap((cancel_requested_at) =>
          either('2026-11-20T10:00:00Z').flatMap((resync_requested_at) =>
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
  // The model test shows which step it is.
  const steps = await service.deps.db.$queryRaw<{ step: string }[]>`
    SELECT next_refund_step(jsonb_populate_record(NULL::refund, value), jsonb_populate_record(NULL::refund_work, value),
      jsonb_populate_record(NULL::recovery, value || '{"id": 1}'), (value->>'is_verified')::boolean, now()) AS step
    FROM jsonb_array_elements(${JSON.stringify(situations)}::jsonb) WITH ORDINALITY ORDER BY ordinality`;
  expect(situations.filter((_, index) => steps[index]?.step === 'send')).toEqual([
    {
      status: 'processing',
      external_refund_id: null,
      unknown_since: null,
      cancel_requested_at: null,
      resync_requested_at: null,
      is_verified: true,
    },
  ]);
});
