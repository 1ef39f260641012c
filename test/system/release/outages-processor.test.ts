import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { allComplete, create } from '../../support/faults/refunds.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { startService, type TestService } from '../../support/service.ts';
import { queueBackends } from '../../support/stores/backends.ts';
import { useDatabase } from '../../support/stores/database.ts';
import { waitFor } from '../../support/wait-for.ts';

const async = { prefer: 'respond-async' };

const workerConcurrency = 2;

describe.each(queueBackends)('an outage of a processor, queues on $name', (backend) => {
  const databaseUrl = useDatabase();
  let service: TestService;

  beforeAll(async () => {
    const settings = {
      CREATE_WAIT_MS: 1_000,
      PROCESSOR_TIMEOUT_MS: 8_000,
      WORKER_CONCURRENCY: workerConcurrency,
    };
    service = await startService({ databaseUrl: databaseUrl(), backend, settings });
    await service.sandbox.settings({ autoSettleMs: 100 });
  });
  beforeEach(() => service.sandbox.clearFaults());
  afterEach(() => expectInvariants(service));
  afterAll(() => service.close());

  const outages = [
    { down: 'stripe', up: 'braintree' },
    { down: 'braintree', up: 'stripe' },
  ];

  describe.each(outages)('when $down is down', ({ down, up }) => {
    test('refunds are accepted and retried, and complete when it is back', async () => {
      await service.sandbox.fault({ processor: down, operation: '*', kind: 'error-503', times: null });
      const { status, body } = await create(service, await newPayment(service, { processor: down }));
      expect({ status, refund: body.data?.status }).toEqual({ status: 200, refund: 'processing' });
      await waitFor('the worker to have tried more than once', async () => {
        const events = { refundId: body.data.id, type: 'attempt.unavailable' };
        return (await service.deps.db.refundEvent.count({ where: events })) > 1;
      });
      await service.sandbox.clearFaults();
      await allComplete(service);
    });

    test('a refund that was not sent is cancelled at once, and no money moves', async () => {
      await service.sandbox.fault({ processor: down, operation: '*', kind: 'error-503', times: null });
      const transactionId = await newPayment(service, { processor: down });
      const { body } = await create(service, transactionId, async);
      const { status, body: cancelled } = await service.call('POST', `/v1/refunds/${body.data.id}/cancel`);
      expect({ status, refund: cancelled.data?.status }).toEqual({ status: 200, refund: 'cancelled' });
      await service.sandbox.clearFaults();
      expect(await service.sandbox.refunds({ transactionId })).toEqual([]);
      await service.deps.db.refund.findUniqueOrThrow({ where: { id: body.data.id, status: 'cancelled' } });
    });

    // Calls that hang take every place that the worker has for this processor.
    test(`calls that hang there do not delay refunds at ${up}`, async () => {
      await service.sandbox.fault({ processor: down, operation: '*', kind: 'timeout', times: null });
      const stuck = await Promise.all(
        Array.from({ length: 6 }, () => newPayment(service, { processor: down })),
      );
      await Promise.all(stuck.map((transactionId) => create(service, transactionId, async)));
      const hanging = async () =>
        await service.deps.db.refundWork.findMany({
          where: { processor: down, leasedUntil: { not: null } },
          select: { refundId: true, leaseToken: true },
          orderBy: { refundId: 'asc' },
        });
      const first = await waitFor('every place to be taken', async () => {
        const claims = await hanging();
        return claims.length === workerConcurrency && claims;
      });
      const { body } = await create(service, await newPayment(service, { processor: up }), async);
      const { id } = body.data;
      await waitFor('the other refund to be accepted', async () =>
        service.deps.db.refund.findFirst({ where: { id, externalRefundId: { not: null } } }),
      );
      expect(await hanging()).toEqual(first);
      await waitFor('the other refund to complete', async () =>
        service.deps.db.refund.findFirst({ where: { id, status: 'completed' } }),
      );
      expect(await service.deps.db.refund.count({ where: { processor: down, status: 'processing' } })).toBe(
        6,
      );
      await service.sandbox.clearFaults();
      await allComplete(service);
    });
  });
});
