import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readOverview } from '#shared/insights/overview.ts';
import type { Database, Refund } from '#shared/platform/database.ts';
import type { RefundOwner } from '#shared/refunds/model/refund.ts';
import { type RefundStatus, refundStatuses } from '#shared/refunds/model/states.ts';
import { fillRefunds } from '#test/support/refunds/fill-refunds.ts';
import { useDatabase } from '#test/support/stores/database.ts';
import { query, withClient } from '#test/support/stores/database-client.ts';
import { openTestDatabase } from '#test/support/stores/open-database.ts';

// Not at a whole hour, and in the first hours of a day that is another one elsewhere.
const now = new Date('2026-11-21T01:23:45.678Z');
const dayMs = 86_400_000;

describe('the overview', () => {
  const owner: RefundOwner = { organizationId: 'org_ours', environment: 'live' };
  const databaseUrl = useDatabase();
  const databaseName = () => new URL(databaseUrl()).pathname.slice(1);
  let db: Database;
  let refunds: Refund[];

  beforeAll(async () => {
    await withClient(databaseUrl(), async (client) => {
      await fillRefunds(client, { ...owner, count: 1_500, now, days: 100 });
      await fillRefunds(client, { ...owner, environment: 'test', count: 50, now, days: 5 });
      await fillRefunds(client, {
        organizationId: 'org_theirs',
        environment: 'live',
        count: 50,
        now,
        days: 5,
      });
    });
    // Days are those of UTC, wherever the database thinks that it is.
    await query(databaseUrl(), `alter database "${databaseName()}" set timezone = 'Pacific/Auckland'`);
    db = openTestDatabase(databaseUrl(), 2);
    const [latest, earlier] = await db.refund.findMany({ where: owner, take: 2, orderBy: { id: 'asc' } });
    const edges = [new Date('2026-11-15T00:00:00Z'), new Date('2026-11-14T23:59:59.999Z')];
    for (const [index, refund] of [latest, earlier].entries()) {
      await db.refund.update({ where: { id: refund?.id ?? '' }, data: { createdAt: edges[index] ?? now } });
    }
    refunds = await db.refund.findMany({ where: owner });
  });
  afterAll(() => db.$disconnect());

  const read = (days: 7 | 30 | 90, currency: string | null = null) =>
    readOverview(db, owner, { now, days, currency });

  function inWindow(days: number): Refund[] {
    const from = Date.UTC(2026, 10, 21) - (days - 1) * dayMs;
    return refunds.filter(({ createdAt }) => createdAt.getTime() >= from && createdAt <= now);
  }

  /** By status, what some refunds come to. */
  function byStatus<Sum>(some: readonly Refund[], sumOf: (refunds: readonly Refund[]) => Sum) {
    const entries = refundStatuses.map((status) => [
      status,
      sumOf(some.filter((refund) => refund.status === status)),
    ]);
    return Object.fromEntries(entries) as Record<RefundStatus, Sum>;
  }
  const counts = (some: readonly Refund[]) => byStatus(some, ({ length }) => length);
  const amounts = (some: readonly Refund[], currency: string) =>
    byStatus(
      some.filter((refund) => refund.currency === currency),
      (refunds) => refunds.reduce((sum, { amount }) => sum + amount, 0n),
    );
  const daysOf = (days: number) =>
    Array.from({ length: days }, (_, index) =>
      new Date(Date.UTC(2026, 10, 21) - (days - 1 - index) * dayMs).toISOString().slice(0, 10),
    );
  const createdOn = (day: string, some: readonly Refund[]) =>
    some.filter(({ createdAt }) => createdAt.toISOString().startsWith(day));
  const numberWith = <Field extends keyof Refund>(some: readonly Refund[], field: Field, value: unknown) =>
    some.filter((refund) => refund[field] === value).length;

  test.each([7, 30, 90] as const)('adds up the refunds of the last %d days in UTC', async (days) => {
    const overview = await read(days);
    const meant = inWindow(days);
    expect(overview.total).toBe(meant.length);
    expect(overview.counts).toEqual(counts(meant));
    expect(overview.perStep).toEqual(
      daysOf(days).map((day) => ({ step: day, counts: counts(createdOn(day, meant)) })),
    );
    const { completed, failed, cancelled } = counts(meant);
    expect(overview.outcomes).toEqual(
      Object.entries({ completed, failed, cancelled }).map(([status, count]) => ({
        status,
        count,
        share: count / (completed + failed + cancelled),
      })),
    );

    // Money, never across currencies, and of each day in the currency with most refunds.
    expect(overview.money.map(({ currency }) => currency).toSorted()).toEqual(['eur', 'usd']);
    for (const { currency, count, amounts: added } of overview.money) {
      expect(added, currency).toEqual(amounts(meant, currency));
      expect(count, currency).toBe(numberWith(meant, 'currency', currency));
    }
    const moneyPerStep = (currency: string) =>
      daysOf(days).map((day) => ({ step: day, amounts: amounts(createdOn(day, meant), currency) }));
    expect(overview).toMatchObject({ currency: 'usd', moneyPerStep: moneyPerStep('usd') });
    expect(await read(days, 'eur')).toMatchObject({ currency: 'eur', moneyPerStep: moneyPerStep('eur') });

    const times = meant
      .flatMap(({ createdAt, completedAt }) =>
        completedAt === null ? [] : [completedAt.getTime() - createdAt.getTime()],
      )
      .sort((a, b) => a - b);
    const at = (share: number) => times[Math.ceil(share * times.length) - 1];
    expect(overview.completion).toEqual({ medianMs: at(0.5), p90Ms: at(0.9) });

    const codes = overview.failureCodes.map(({ count }) => count);
    expect(codes).toEqual(codes.toSorted((a, b) => b - a));
    expect(codes.reduce((sum, count) => sum + count, 0)).toBe(failed);
    for (const { code, count } of overview.failureCodes) {
      expect(count, code).toBe(numberWith(meant, 'failureCode', code));
    }
    for (const { name, count } of overview.byProcessor) {
      expect(count, name).toBe(numberWith(meant, 'processor', name));
    }
    for (const { name, count } of overview.byInitiator) {
      expect(count, name).toBe(numberWith(meant, 'initiatedBy', name));
    }
    expect(overview.byProcessor.map(({ name }) => name)).toEqual(['braintree', 'stripe']);
    expect(overview.byInitiator.map(({ name }) => name).slice(0, 2)).toEqual(['api', 'dashboard']);
  });

  test('adds up more than a number can hold', async () => {
    const large = { organizationId: 'org_large', environment: 'live' } as const;
    await withClient(databaseUrl(), (client) => fillRefunds(client, { ...large, count: 4, now, days: 1 }));
    const amount = BigInt(Number.MAX_SAFE_INTEGER);
    await db.payment.updateMany({ where: large, data: { amount: 4n * amount, currency: 'jpy' } });
    await db.refund.updateMany({ where: large, data: { amount, currency: 'jpy' } });
    const { money } = await readOverview(db, large, { now, days: 7, currency: null });
    const total = Object.values(money[0]?.amounts ?? {}).reduce((sum, each) => sum + each, 0n);
    expect(total).toBe(4n * amount);
  });

  test('is all zeros without refunds', async () => {
    const empty = { organizationId: 'org_empty', environment: 'live' } as const;
    const overview = await readOverview(db, empty, { now, days: 7, currency: null });
    const nothing = { total: 0, money: [], currency: null, completion: null, failureCodes: [] };
    expect(overview).toMatchObject({ ...nothing, perStep: { length: 7 }, moneyPerStep: { length: 7 } });
    for (const { share } of overview.outcomes) expect(share).toBe(0);
  });
});
