import { expect, test } from 'vitest';
import { joinPayments } from '../../../shared/payments/payment.ts';
import { newId } from '../../../shared/platform/ids.ts';
import { creationOf } from '../../support/refunds/statement-items.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });

test('a payment that was joined has to be read before a refund with limits, or an older read of it, counts', async () => {
  const { db, statements } = service.deps;
  const owner = { organizationId: service.organization.id, environment: 'test' as const };
  const known = creationOf(owner);
  const unread = { ...creationOf(owner), payment: {} };
  for (const item of [known, unread]) expect((await statements.create(item)).outcome).toBe('created');
  const ids = [known.transaction_id, unread.transaction_id];
  await joinPayments(db, { ...owner, processor: 'stripe', transactionId: unread.transaction_id }, ids);

  const { payment: _stored, ...decided } = { ...known, id: newId('ref'), event_id: newId('evt') };
  const answer = await statements.create({ ...decided, limits: { max_taken: 1_000 } });
  expect(answer.outcome).toBe('unread');
  const holder = await db.payment.findFirstOrThrow({
    where: { names: { some: { name: known.transaction_id } } },
  });
  expect(holder.fetchedAt).toBeNull();
  expect(holder.staleSince).toEqual(known.payment.fetched_at);
});
