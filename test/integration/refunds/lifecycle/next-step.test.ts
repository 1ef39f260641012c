import { expect, test } from 'vitest';
import type { RefundStep } from '#shared/refunds/lifecycle/statements.ts';
import { type RefundStatus, refundStatuses } from '#shared/refunds/model/states.ts';
import { useService } from '#test/support/use-service.ts';

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
  ['is cancelled at once when it surely is not at the processor', { cancel_requested_at: moment }, 'cancel'],
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
  ['is looked up when it was not sent and a resync is requested', { resync_requested_at: moment }, 'look_up'],
])('a refund %s', async (_promise, situation, step) => {
  expect(await stepsOf([{ ...fresh, ...situation }])).toEqual([step]);
});

test('a refund is never sent while an attempt is unknown, a cancellation is requested, or the processor has the refund', async () => {
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
