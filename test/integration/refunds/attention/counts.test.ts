import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttentionCount, readNeedsAttention } from '#shared/insights/needs-attention.ts';
import type { Database } from '#shared/platform/database.ts';
import { newId } from '#shared/platform/ids.ts';
import type { RefundOwner } from '#shared/refunds/model/refund.ts';
import { fillRefunds } from '#test/support/refunds/fill-refunds.ts';
import { useDatabase } from '#test/support/stores/database.ts';
import { withClient } from '#test/support/stores/database-client.ts';
import { openTestDatabase } from '#test/support/stores/open-database.ts';

const now = new Date('2026-11-21T12:00:00Z');
const minutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000);
const owner: RefundOwner = { organizationId: 'org_ours', environment: 'live' };
const theirs: RefundOwner = { organizationId: 'org_theirs', environment: 'live' };

const databaseUrl = useDatabase();
let db: Database;

beforeAll(async () => {
  await withClient(databaseUrl(), async (client) => {
    for (const each of [owner, theirs, { ...owner, environment: 'test' as const }]) {
      await fillRefunds(client, { ...each, count: 300, now, days: 10 });
    }
  });
  db = openTestDatabase(databaseUrl(), 5);
});
afterAll(() => db.$disconnect());

const read = () => readNeedsAttention(db, owner);

/** What the count of these refunds has to be. */
function countOf(
  refunds: readonly { amount: bigint; currency: string; since: Date | null }[],
): AttentionCount {
  const sums = new Map<string, bigint>();
  for (const { amount, currency } of refunds) sums.set(currency, (sums.get(currency) ?? 0n) + amount);
  return {
    count: refunds.length,
    atLeast: false,
    oldest: refunds.map(({ since }) => since).toSorted((a, b) => Number(a) - Number(b))[0] ?? null,
    amounts: expect.toSatisfy(
      (amounts: AttentionCount['amounts']) =>
        amounts.every(({ currency, amount }) => sums.get(currency) === amount) &&
        amounts.length === sums.size,
    ),
  };
}

test('adds up the refunds that await approval, and the flagged ones', async () => {
  const pending = await db.refund.findMany({ where: { ...owner, status: 'pending' } });
  const flagged = await db.refundWork.findMany({
    where: { ...owner, flaggedAt: { not: null } },
    include: { refund: true },
  });
  expect(Math.min(pending.length, flagged.length)).toBeGreaterThan(1);
  expect(await read()).toMatchObject({
    approvals: countOf(pending.map((refund) => ({ ...refund, since: refund.createdAt }))),
    flagged: countOf(flagged.map(({ refund, flaggedAt }) => ({ ...refund, since: flaggedAt }))),
  });
});

test('stops counting at a hundred', async () => {
  const many = { organizationId: 'org_many', environment: 'live' } as const;
  await withClient(databaseUrl(), (client) => fillRefunds(client, { ...many, count: 150, now, days: 1 }));
  await db.$executeRaw`
    INSERT INTO refund_work (refund_id, account_id, organization_id, environment, processor, flagged_at, flag_reason)
    SELECT id, account_id, organization_id, environment, processor, ${now}, 'outcome_unknown' FROM refund
    WHERE organization_id = ${many.organizationId}
    ON CONFLICT (refund_id) DO UPDATE SET flagged_at = excluded.flagged_at, flag_reason = excluded.flag_reason`;
  const { flagged } = await readNeedsAttention(db, many);
  expect(flagged).toMatchObject({ count: 100, atLeast: true });
});

test('sums up by account what waits for its balance, apart from the other flagged refunds', async () => {
  const { flagged } = await read();
  const low = await db.refundWork.findMany({
    where: { ...owner, flaggedAt: { not: null }, processor: 'stripe' },
    include: { refund: true },
  });
  const refundId = { in: low.map(({ refund }) => refund.id) };
  await db.refundWork.updateMany({ where: { refundId }, data: { flagReason: 'insufficient_balance' } });
  const after = await read();
  expect(low.length).toBeGreaterThan(0);
  expect(after.lowBalances).toMatchObject([
    {
      account: { processor: 'stripe', name: 'stripe' },
      ...countOf(low.map(({ refund, flaggedAt }) => ({ ...refund, since: flaggedAt }))),
    },
  ]);
  expect(after.flagged.count).toBe(flagged.count - low.length);
});

test('lists accounts whose credentials are refused, without their credentials', async () => {
  expect((await read()).refusedAccounts).toEqual([]);
  const where = { processor: 'stripe', organizationId: { in: ['org_ours', 'org_theirs'] } };
  await db.processorAccount.updateMany({ where, data: { misconfiguredAt: now } });
  const { refusedAccounts } = await read();
  expect(refusedAccounts).toMatchObject([{ ...owner, processor: 'stripe', misconfiguredAt: now }]);
  expect(refusedAccounts[0]).not.toHaveProperty('encryptedCredentials');
});

describe('failed reconciliations', () => {
  /** A run that took a minute. */
  async function run(minutes: number, failure: string | null = null, of = owner): Promise<void> {
    const { id: accountId } = await db.processorAccount.findFirstOrThrow({
      where: { ...of, processor: 'stripe' },
    });
    const window = { windowStart: minutesAgo(1_000_000), windowEnd: minutesAgo(minutes) };
    const times = { startedAt: minutesAgo(minutes), finishedAt: minutesAgo(minutes - 1) };
    await db.reconciliationRun.create({
      data: { id: newId('rec'), accountId, actor: 'worker', failure, ...window, ...times },
    });
  }

  test('are listed since the first failure after the last success, and until the next success', async () => {
    await run(900, 'No answer.', theirs);
    expect((await read()).failedReconciliations).toEqual([]);
    await run(850, 'No answer.');
    await run(820);
    expect((await read()).failedReconciliations).toEqual([]);
    await run(800, 'No answer.');
    await run(790, 'Still none.');
    expect((await read()).failedReconciliations).toEqual([
      {
        account: expect.objectContaining({ processor: 'stripe' }),
        failure: 'Still none.',
        since: minutesAgo(800),
      },
    ]);
    await run(780);
    expect((await read()).failedReconciliations).toEqual([]);
  });
});
