import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { shareStatement } from '#shared/platform/concurrency/shared-statement.ts';
import { newId } from '#shared/platform/ids.ts';
import { createRefund } from '#shared/refunds/lifecycle/create.ts';
import type { RefundRequest } from '#shared/refunds/lifecycle/decide.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { lockPaymentByName, newPayment } from '../../support/refunds/payments.ts';
import { recordsOf } from '../../support/refunds/refund-records.ts';
import { refundRequest } from '../../support/refunds/refund-requests.ts';
import { creationOf, ownerOf } from '../../support/refunds/statement-items.ts';
import { withClient } from '../../support/stores/database-client.ts';
import { useService } from '../../support/use-service.ts';

describe('a statement that concurrent requests share', () => {
  const service = useService({ workers: 0 });
  let payments: string[];

  beforeAll(async () => {
    payments = await Promise.all(
      Array.from({ length: 20 }, () => newPayment(service, { processor: 'stripe', amount: 100_000 })),
    );
  });
  afterEach(() => expectInvariants(service));

  const asked = (transactionId: string, more: Partial<RefundRequest> = {}) =>
    refundRequest(service, transactionId, { amount: 1n, ...more });
  const paymentAt = (index: number) => payments[index % payments.length] ?? '';

  test('fails only for the items of several hundred that violate a constraint', async () => {
    const run = randomUUID();
    const { create } = service.deps.statements;
    const { payment: _, ...refund } = creationOf(ownerOf(service.organization));
    const poison = { ...refund, transactionId: paymentAt(0), amount: 0n };
    const poisoned = Array.from({ length: 5 }, () =>
      create({ ...poison, id: newId('ref'), eventId: newId('evt') }),
    );
    const good = Array.from({ length: 300 }, (_, index) =>
      createRefund(service.deps, asked(paymentAt(index), { metadata: { run } })),
    );
    const outcomes = await Promise.allSettled(poisoned);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toEqual([]);
    const created = await Promise.all(good);
    const recorded = await recordsOf(service.deps.db, { metadata: { path: ['run'], equals: run } });
    expect(recorded.map(({ id }) => id)).toEqual(created.map(({ refund }) => refund.id).toSorted());
  });

  test('delays only items whose payment another session has locked', async () => {
    const [locked = '', ...others] = payments;
    await withClient(service.databaseUrl, async (client) => {
      await client.query('begin');
      await client.query(lockPaymentByName, [locked]);
      let isAnswered = false;
      const waiting = createRefund(service.deps, asked(locked)).then(() => {
        isAnswered = true;
      });
      await Promise.all(others.map((transactionId) => createRefund(service.deps, asked(transactionId))));
      expect(isAnswered).toBe(false);
      await client.query('commit');
      await waiting;
    });
  });
});

describe('a statement that PostgreSQL rolls back as a deadlock', () => {
  test('is repeated item by item and fails none', async () => {
    const statement = shareStatement<number, number>(async (items) => {
      if (items.length > 1) throw Object.assign(new Error('deadlock detected'), { code: '40P01' });
      return items;
    });
    expect(await Promise.all([1, 2, 3].map(statement))).toEqual([1, 2, 3]);
  });
});
