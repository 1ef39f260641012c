import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { approveRefund } from '#shared/refunds/decisions/approve.ts';
import { cancelRefund } from '#shared/refunds/lifecycle/cancel.ts';
import { RefundWatcher } from '#shared/refunds/lifecycle/refund-watcher.ts';
import { newPerson } from '../../support/people.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { rowOf } from '../../support/refunds/refund-records.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { useService } from '../../support/use-service.ts';

// No worker: steps are taken here.
const service = useService({ workers: 0 });
beforeAll(() => service.sandbox.settings({ autoSettleMs: 0 }));
beforeEach(() => storePolicies(service, { holdSeconds: { api: 120 } }));
afterEach(async () => {
  vi.restoreAllMocks();
  await service.sandbox.clearFaults();
  await expectInvariants(service);
});

const create = async (headers: Record<string, string> = {}) => (await newRefund(service, {}, { headers })).id;

const read = async (id: string) =>
  (await service.call('GET', `/v1/refunds/${id}?include=heldUntil`)).body.data;

const sent = async (id: string) =>
  await service.sandbox.refunds({ transactionId: (await rowOf(service, id)).transactionId });

const after = (time: Date | string, seconds: number) => new Date(+new Date(time) + seconds * 1_000);

/** As if its time had passed. */
async function endHold(id: string): Promise<void> {
  await service.deps.db.$executeRaw`UPDATE refund SET held_until = service_time() WHERE id = ${id}`;
  await service.deps.db.$executeRaw`UPDATE refund_work SET due_at = service_time() WHERE refund_id = ${id}`;
}

test('a refund is sent when the time of its policy is over, and not before, and no request waits for it', async () => {
  const waits = vi.spyOn(RefundWatcher.prototype, 'waitFor');
  const id = await create({ prefer: 'wait=10' });
  expect(waits).not.toHaveBeenCalled();
  const { heldUntil, createdAt } = await read(id);
  expect(heldUntil).toBe(after(createdAt, 120).toISOString());
  await advanceRefund(service.deps, id);
  expect(await sent(id)).toEqual([]);
  await endHold(id);
  await advanceRefund(service.deps, id);
  expect(await sent(id)).toHaveLength(1);
  expect(await read(id)).toMatchObject({ status: 'completed', heldUntil: null });
});

test('a cancellation before that time succeeds; at its end it or the worker gets the refund, never both', async () => {
  const ids = await Promise.all(Array.from({ length: 24 }, () => create()));
  const owner = { organizationId: service.organization.id, environment: 'test' } as const;
  const race = async (refundId: string, isEnded: boolean) => {
    const actor = `key:${service.organization.keys.test.id}`;
    const cancel = () => cancelRefund(service.deps, { ...owner, refundId, actor, idempotencyKey: null });
    if (isEnded) await endHold(refundId);
    const [claim, { kind }] = await Promise.all([service.deps.statements.claim(refundId), cancel()]);
    return [claim !== null, kind];
  };
  for (const held of ids.slice(0, 8)) expect(await race(held, false)).toEqual([false, 'cancelled']);
  for (const ended of await Promise.all(ids.slice(8).map((id) => race(id, true)))) {
    expect([
      [false, 'cancelled'],
      [true, 'requested'],
    ]).toContainEqual(ended);
  }
});

test('the hold of a refund that awaits approval begins with the approval', async () => {
  await storePolicies(service, { holdSeconds: { api: 90 }, approvalAbove: { api: 0 } });
  const id = await create();
  expect(await read(id)).toMatchObject({ status: 'pending', heldUntil: null });
  await service.deps.db.$executeRaw`
    UPDATE refund SET created_at = created_at - interval '1 day', held_until = held_until - interval '1 day' WHERE id = ${id}`;
  const { userId } = await newPerson(service.deps, service.organization.id, 'admin');
  await approveRefund(service.deps, await rowOf(service, id), `user:${userId}`);
  const { heldUntil, updatedAt } = await read(id);
  expect(heldUntil).toBe(after(updatedAt, 90).toISOString());
  await advanceRefund(service.deps, id);
  expect(await sent(id)).toEqual([]);
});

test.each([
  [
    'new credentials',
    () => service.deps.db.$executeRaw`
    SELECT resume_refunds(id) FROM processor_account`,
  ],
  ['a lookup after a restore', () => service.deps.db.$executeRaw`SELECT resync_open_refunds(NULL)`],
])('%s do not end a hold', async (_what, happens) => {
  const id = await create();
  await happens();
  await advanceRefund(service.deps, id);
  expect(await sent(id)).toEqual([]);
  const { work, heldUntil } = await rowOf(service, id);
  expect(work?.dueAt).toEqual(heldUntil);
});

test('while the payment cannot be read, the longest hold that may apply does', async () => {
  const holds = [{ api: 60 }, { api: 300 }, { dashboard: 900 }];
  await storePolicies(service, ...holds.map((holdSeconds) => ({ holdSeconds })));
  await service.sandbox.fault({
    processor: 'stripe',
    operation: 'transaction.get',
    kind: 'error-503',
    times: null,
  });
  const { heldUntil, createdAt } = await read(await create());
  expect(heldUntil).toBe(after(createdAt, 300).toISOString());
});
