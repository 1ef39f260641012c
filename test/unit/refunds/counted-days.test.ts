import { expect, test } from 'vitest';
import type { Database } from '#shared/platform/database.ts';
import { openVelocityReads } from '#shared/policies/policy-facts.ts';
import { openRefundStatements } from '#shared/refunds/lifecycle/statements.ts';
import { creationOf } from '../../support/refunds/statement-items.ts';

const ownerOf = (organizationId: string) =>
  ({ organizationId, environment: 'live', accountId: 'acc_any' }) as const;

/** A database that never answers statements about the organization `large`, and those statements. */
function hangingFor(answer: (values: unknown[]) => unknown[]) {
  const hanging: unknown[][] = [];
  const $queryRaw = async (_text: unknown, ...values: unknown[]) => {
    if (!JSON.stringify(values).includes('large')) return answer(values);
    hanging.push(values);
    return await new Promise<never>(() => {});
  };
  return { db: { $queryRaw } as unknown as Database, hanging };
}

test('creations that count a large day hold one connection and delay no other organization', async () => {
  const { db, hanging } = hangingFor(([items]) => JSON.parse(String(items)).map(outcomeAt));
  const { create } = openRefundStatements(db, {
    settings: {} as never,
    metrics: { statementItems: { observe: () => undefined } } as never,
    positionMarks: {} as never,
  });
  const bounds = { organization: { maxCount: 1_000_000 } };
  const large = () => void create({ ...creationOf(ownerOf('large')), bounds });
  large();
  await expect.poll(() => hanging.length).toBe(1);
  for (let count = 0; count < 20; count += 1) large();
  const small = creationOf(ownerOf('small'));
  expect(await create(small)).toMatchObject({ outcome: 'late' });
  expect(await create({ ...small, bounds })).toMatchObject({ outcome: 'late' });
  expect(hanging).toHaveLength(1);
});

const outcomeAt = (_item: unknown, item: number) => ({ item, outcome: 'late' });

test('decisions that count a large day hold two connections and delay no other organization', async () => {
  const velocity = { refundsInLastDay: 3, amountInLastDay: 300n };
  const { db, hanging } = hangingFor(() => [velocity]);
  const velocities = openVelocityReads(db);
  for (let count = 0; count < 20; count += 1) {
    void velocities('large', 'live', 'usd', null);
    await new Promise(setImmediate);
  }
  expect(await velocities('small', 'live', 'usd', null)).toEqual(velocity);
  expect(hanging).toHaveLength(2);
});
