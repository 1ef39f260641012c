import { beforeAll, describe, expect, test } from 'vitest';
import { HeldTime } from '#test/support/clocks.ts';
import { advanceRefund } from '#test/support/refunds/advance-refund.ts';
import { createdRefund } from '#test/support/refunds/flagged-refunds.ts';
import { rowOf } from '#test/support/refunds/refund-records.ts';
import { useService } from '#test/support/use-service.ts';

const hourMs = 60 * 60 * 1000;

const time = new HeldTime();
const service = useService({ workers: 0, overrides: { clock: time } });

beforeAll(() => time.hold(service.ownerDb));

async function workHourly(refundId: string, hours: number): Promise<void> {
  for (let hour = 0; hour < hours; hour += 1) {
    await time.advance(service.ownerDb, hourMs);
    await advanceRefund(service.deps, refundId);
  }
}

describe('a refund that Stripe answers with a 500, which it keeps for the key', () => {
  test('moves once when Stripe carries it out hours later, although no lookup found it meanwhile', async () => {
    await service.sandbox.fault({ processor: 'stripe', operation: 'refund.create', kind: 'error-500-held' });
    const { id, transactionId } = await createdRefund(service, 'stripe');
    await workHourly(id, 6);
    const moved = () => service.sandbox.refunds({ processor: 'stripe', transactionId });
    expect(await moved()).toEqual([]);
    const { status, attempts } = await rowOf(service, id);
    expect({ status, outcomes: new Set(attempts.map(({ outcome }) => outcome)) }).toEqual({
      status: 'processing',
      outcomes: new Set(['unknown']),
    });
    expect(attempts.length).toBeGreaterThan(3);

    const [held] = await service.sandbox.approvals();
    await service.sandbox.decide(held?.id ?? '', 'approved');
    await workHourly(id, 2);
    expect(await moved()).toMatchObject([{ key: id }]);
    const [{ id: externalRefundId } = { id: null }] = await moved();
    expect(await rowOf(service, id)).toMatchObject({ externalRefundId });
  });

  test('is sent again once Stripe has forgotten the key', async () => {
    await service.sandbox.fault({ processor: 'stripe', operation: 'refund.create', kind: 'error-500-held' });
    const { id, transactionId } = await createdRefund(service, 'stripe');
    await workHourly(id, 23);
    const moved = () => service.sandbox.refunds({ processor: 'stripe', transactionId });
    expect(await moved()).toEqual([]);
    await workHourly(id, 3);
    expect(await moved()).toMatchObject([{ key: id }]);
  });
});
