import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { HeldTime } from '#test/support/clocks.ts';
import { advanceRefund } from '#test/support/refunds/advance-refund.ts';
import { createdRefund } from '#test/support/refunds/flagged-refunds.ts';
import { rowOf } from '#test/support/refunds/refund-records.ts';
import { askToCancel } from '#test/support/refunds/refund-work.ts';
import { useService } from '#test/support/use-service.ts';
import { advanceRefund as advanceClaim } from '#worker/advance/advance-refund.ts';

const hourMs = 60 * 60 * 1000;

const time = new HeldTime();
const service = useService({
  workers: 0,
  settings: { LOOKUP_SETTLE_DELAY_MS: undefined },
  overrides: { clock: time },
});

beforeAll(() => time.hold(service.ownerDb));
afterEach(async () => {
  vi.restoreAllMocks();
  await service.sandbox.clearFaults();
});

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

  test.each([
    ['', []],
    [', also when Stripe limits the rate meanwhile', ['rate-limit']],
  ])('is not sent again once Stripe may have forgotten the key: a person decides%s', async (_, kinds) => {
    const faults = [{ kind: 'error-500-held', times: 1 }, ...kinds.map((kind) => ({ kind, times: 12 }))];
    for (const fault of faults) {
      await service.sandbox.fault({ processor: 'stripe', operation: 'refund.create', ...fault });
    }
    const { id, transactionId } = await createdRefund(service, 'stripe');
    await workHourly(id, 30);
    expect(await service.sandbox.refunds({ processor: 'stripe', transactionId })).toEqual([]);
    const { status, flagReason, attempts } = await rowOf(service, id);
    expect({ status, flagReason }).toEqual({ status: 'processing', flagReason: 'outcome_unknown' });
    expect(attempts.length).toBeLessThan(24);
  });

  test('is not sent again when no worker was at work from the lookup until Stripe may have forgotten the key', async () => {
    await service.sandbox.fault({ processor: 'stripe', operation: 'refund.create', kind: 'error-500-held' });
    const { id, transactionId } = await createdRefund(service, 'stripe');
    await workHourly(id, 1);
    const { statements } = service.deps;
    const record = statements.record.bind(statements);
    vi.spyOn(statements, 'record').mockImplementation(async (item) => {
      const recorded = await record(item);
      if (item.entries[0]?.type === 'lookup.absent') vi.spyOn(statements, 'claim').mockResolvedValue(null);
      return recorded;
    });
    await workHourly(id, 1);
    vi.restoreAllMocks();
    await time.advance(service.ownerDb, 30 * hourMs);
    await workHourly(id, 2);
    expect(await service.sandbox.refunds({ processor: 'stripe', transactionId })).toEqual([]);
    expect(await rowOf(service, id)).toMatchObject({ status: 'processing', flagReason: 'outcome_unknown' });
  });

  test('is not sent again a day after the first attempt, whose server error was lost', async () => {
    await service.sandbox.fault({ processor: 'stripe', operation: 'refund.create', kind: 'error-500-held' });
    const { id, transactionId } = await createdRefund(service, 'stripe');
    const claimed = await service.deps.statements.claim(id);
    if (claimed === null) throw new Error('It is not due');
    const killed = vi.spyOn(service.deps.statements, 'record').mockRejectedValue(new Error('Killed'));
    await expect(advanceClaim(service.deps, claimed)).rejects.toThrow('Killed');
    killed.mockRestore();
    await time.advance(service.ownerDb, 12 * hourMs);
    await workHourly(id, 14);
    expect(await service.sandbox.refunds({ processor: 'stripe', transactionId })).toEqual([]);
    expect(await rowOf(service, id)).toMatchObject({ status: 'processing', flagReason: 'outcome_unknown' });
  });

  test.each(['an attempt is unknown', 'the next attempt is due'])(
    'is cancelled only when no lookup has found it for a day, asked while %s',
    async (moment) => {
      await service.sandbox.fault({
        processor: 'stripe',
        operation: 'refund.create',
        kind: 'error-500-held',
      });
      const { id } = await createdRefund(service, 'stripe');
      const cancel = async () => await askToCancel(service, await rowOf(service, id));
      if (moment === 'the next attempt is due') {
        const { statements } = service.deps;
        const record = statements.record.bind(statements);
        vi.spyOn(statements, 'record').mockImplementation(async (item) => {
          const recorded = await record(item);
          if (item.entries[0]?.type === 'lookup.absent') await cancel();
          return recorded;
        });
        await workHourly(id, 1);
      } else {
        await workHourly(id, 1);
        await cancel();
      }
      await workHourly(id, 22);
      expect(await rowOf(service, id)).toMatchObject({ status: 'processing' });
      await workHourly(id, 3);
      expect(await rowOf(service, id)).toMatchObject({ status: 'cancelled' });
    },
  );
});
