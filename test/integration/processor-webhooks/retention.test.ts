import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

const service = useService({ workers: 0 });

const dayMs = 24 * 60 * 60 * 1000;

async function accountId(): Promise<string> {
  const { organization } = service;
  const where = { organizationId: organization.id, environment: 'test', processor: 'stripe' } as const;
  return (await service.deps.db.processorAccount.findFirstOrThrow({ where })).id;
}

async function storeEvents(count: number, receivedAt: Date): Promise<void> {
  const account = await accountId();
  await service.deps.db.processorEvent.createMany({
    data: Array.from({ length: count }, () => {
      return { accountId: account, externalEventId: randomUUID(), type: 'refund.updated', receivedAt };
    }),
  });
}

test('a worker deletes events after 30 days, however many there are, and no sooner', async () => {
  const { db } = service.deps;
  const now = Date.now();
  await storeEvents(2_500, new Date(now - 30 * dayMs - 60_000));
  await storeEvents(3, new Date(now - 30 * dayMs + 60_000));
  const old = { receivedAt: { lt: new Date(now - 30 * dayMs) } };
  const worker = service.startWorker();
  await waitFor(
    'the old events to be gone',
    async () => (await db.processorEvent.count({ where: old })) === 0,
  );
  await worker.close();
  expect(await db.processorEvent.count()).toBe(3);
});
