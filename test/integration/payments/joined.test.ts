import { expect, test } from 'vitest';
import { joinPayments } from '#shared/payments/payment.ts';
import { newId } from '#shared/platform/ids.ts';
import { creationOf } from '../../support/refunds/statement-items.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });

test('a payment that was joined has to be read before a refund with limits, or an older read of it, counts', async () => {
  const { db, statements } = service.deps;
  const owner = { organizationId: service.organization.id, environment: 'test' as const };
  const known = creationOf(owner);
  const unread = { ...creationOf(owner), payment: {} };
  for (const item of [known, unread]) expect((await statements.create(item)).outcome).toBe('created');
  const ids = [known.transactionId, unread.transactionId];
  await joinPayments(db, { ...owner, processor: 'stripe', transactionId: unread.transactionId }, ids);

  const { payment: _stored, ...decided } = { ...known, id: newId('ref'), eventId: newId('evt') };
  const answer = await statements.create({ ...decided, limits: { maxTaken: 1_000n } });
  expect(answer.outcome).toBe('unread');
  const holder = await db.payment.findFirstOrThrow({
    where: { names: { some: { name: known.transactionId } } },
  });
  expect(holder.fetchedAt).toBeNull();
  expect(holder.staleSince).toEqual(known.payment.fetchedAt);
});
