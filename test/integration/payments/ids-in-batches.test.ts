import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { joinPayments } from '#shared/payments/payment.ts';
import { newId } from '#shared/platform/ids.ts';
import { creationOf, ownerOf } from '../../support/refunds/statement-items.ts';
import { useService } from '../../support/use-service.ts';

// Past the service, which repeats the items of a batch that fails.
const service = useService({ workers: 0 });
const sessions: pg.Client[] = [];

beforeAll(async () => {
  for (let index = 0; index < 2; index += 1) {
    const session = new pg.Client({ connectionString: service.databaseUrl });
    await session.connect();
    sessions.push(session);
  }
});
afterAll(() => Promise.all(sessions.map((session) => session.end())));

/**
 * A refund of a quarter of a new payment.
 * @param isRead whether its processor has told the amount and the ids.
 */
function quarter(suffix: string, named: 'ch' | 'pi', isRead: boolean) {
  const now = new Date();
  const facts = { amount: 100, currency: 'usd', charged_at: now, fetched_at: now };
  const payment = isRead ? { transaction_ids: [`pi_${suffix}`, `ch_${suffix}`], ...facts } : {};
  return {
    ...{
      id: newId('ref'),
      organization_id: service.organization.id,
      environment: 'test',
      account_id: service.organization.accounts.test.stripe,
      processor: 'stripe',
    },
    ...{
      transaction_id: `${named}_${suffix}`,
      amount: 25,
      currency: 'usd',
      reason: 'other',
      initiated_by: 'api',
    },
    ...{ actor: 'test', status: 'processing', event_id: newId('evt'), payment },
  };
}

/** Lets both sessions create refunds at the same time, each in one statement; what one holds is left out by the other. */
async function createAtOnce(batches: readonly object[][]): Promise<void> {
  const results = await Promise.all(
    batches.map(async (items, index) => {
      const text = 'select outcome from create_refunds($1::jsonb)';
      const { rows } = (await sessions[index]?.query(text, [JSON.stringify(items)])) ?? { rows: [] };
      return rows.map(({ outcome }) => outcome);
    }),
  );
  for (const outcome of results.flat()) expect(['created', 'locked', 'unread']).toContain(outcome);
}

test('two sessions create refunds of the same new payments by both ids in opposite orders, without a deadlock', async () => {
  for (let round = 0; round < 40; round += 1) {
    const suffixes = Array.from({ length: 20 }, (_, index) => `${round}x${index}x`);
    const all = suffixes.flatMap((suffix, index) => [
      quarter(suffix, 'ch', index % 5 > 0),
      quarter(suffix, 'pi', index % 3 > 0),
    ]);
    const others = all.map((item) => ({ ...item, id: newId('ref'), event_id: newId('evt') }));
    await createAtOnce([all, others.toReversed()]);
  }
  const payments = await service.deps.db.payment.findMany({ include: { names: true } });
  const ids = payments.map(({ names }) => names.map(({ name }) => name.slice(3)));
  expect(ids.some((suffixes) => suffixes.length === 2)).toBe(true);
  for (const suffixes of ids) expect(new Set(suffixes).size).toBe(1);
});

test('a payment that was joined has to be read before a refund with limits, or an older read of it, counts', async () => {
  const { db, statements } = service.deps;
  const owner = ownerOf(service.organization);
  const known = creationOf(owner);
  const unread = { ...creationOf(owner), payment: {} };
  for (const item of [known, unread]) expect((await statements.create(item)).outcome).toBe('created');
  const ids = [known.transactionId, unread.transactionId];
  await joinPayments(db, { accountId: owner.accountId, transactionId: unread.transactionId }, ids);

  const { payment: _stored, ...decided } = { ...known, id: newId('ref'), eventId: newId('evt') };
  const answer = await statements.create({ ...decided, bounds: { payment: { maxAmount: 1_000n } } });
  expect(answer.outcome).toBe('unread');
  const holder = await db.payment.findFirstOrThrow({
    where: { names: { some: { name: known.transactionId } } },
  });
  expect(holder.fetchedAt).toBeNull();
  expect(holder.staleSince).toEqual(known.payment.fetchedAt);
});
