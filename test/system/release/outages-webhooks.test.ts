import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { PROCESSORS } from '../../sandbox/ledger/ledger.ts';
import type { ServiceProcess } from '../../support/faults/service-process.ts';
import { OwnPostgres } from '../../support/faults/stores.ts';
import { useDeployment } from '../../support/faults/use-deployment.ts';
import { type ProcessorName, webhookAbout } from '../../support/processors/signed-webhooks.ts';
import { openWebhooks, reportOf, type Webhooks } from '../../support/processors/webhooks.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { type RefundRecord, rowOf, untilStatus } from '../../support/refunds/refund-records.ts';
import { startService, type TestService } from '../../support/service.ts';
import { postgresQueues } from '../../support/stores/backends.ts';
import { waitFor } from '../../support/wait-for.ts';

const gone = { stripe: 'failed', braintree: 'settlement_declined' };

/** A webhook about money that was returned. */
function returned(processor: ProcessorName, refund: RefundRecord) {
  return webhookAbout(processor, { ...reportOf(refund), processorStatus: gone[processor] });
}

/** A refund that is completed on record and whose money the processor has returned since. */
async function returnedRefund(service: TestService, processor: ProcessorName) {
  const transactionId = await newPayment(service, { processor });
  const { body } = await service.call('POST', '/v1/refunds', {
    body: { transactionId, amount: 2_500, reason: 'other' },
  });
  const refund = await untilStatus(service, body.data.id, 'completed');
  await service.sandbox.driveRefund(refund.externalRefundId ?? '', { status: gone[processor] });
  return refund;
}

describe('while PostgreSQL is down', () => {
  let postgres: OwnPostgres;
  let service: TestService;
  let webhooks: Webhooks;

  beforeAll(async () => {
    postgres = await OwnPostgres.open();
    service = await startService({ databaseUrl: postgres.url, backend: postgresQueues });
    await service.sandbox.settings({ autoSettleMs: 0 });
    webhooks = await openWebhooks(service);
  });
  afterEach(() => expectInvariants(service));
  afterAll(async () => {
    await service.close();
    await postgres.remove();
  });

  test.each(PROCESSORS)(
    'a webhook of %s is answered with 503, and processed when the processor sends it again',
    async (processor) => {
      const refund = await returnedRefund(service, processor);
      const webhook = returned(processor, refund);
      const address = await webhooks.addressOf(processor);
      await postgres.stop();
      const refused = await webhooks.send(processor, webhook, address);
      expect(refused).toMatchObject({ status: 503, body: { error: { code: 'service_unavailable' } } });
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      await postgres.start();
      expect((await rowOf(service, refund.id)).work).toBeNull();
      await waitFor(
        'the webhook to be processed',
        async () => (await webhooks.send(processor, webhook, address)).status === 200,
      );
      await untilStatus(service, refund.id, 'failed');
      expect(await service.deps.db.processorEvent.count({ where: { refundId: refund.id } })).toBe(1);
    },
  );

  test('a webhook whose commit fails is answered with 503, and is on record once when it is sent again', async () => {
    const refund = await returnedRefund(service, 'stripe');
    const webhook = returned('stripe', refund);
    await service.ownerDb.$executeRaw`
      CREATE FUNCTION end_connection() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END'`;
    // The commit checks a deferred constraint, so that the connection ends during the commit.
    await service.ownerDb.$executeRaw`
      CREATE CONSTRAINT TRIGGER break_commit AFTER INSERT ON processor_event
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION end_connection()`;
    const refused = await webhooks.send('stripe', webhook);
    expect(refused).toMatchObject({ status: 503, body: { error: { code: 'service_unavailable' } } });
    await waitFor('a connection', async () => {
      await service.ownerDb.$executeRaw`DROP FUNCTION IF EXISTS end_connection CASCADE`;
      return true;
    });
    expect((await webhooks.send('stripe', webhook)).status).toBe(200);
    await untilStatus(service, refund.id, 'failed');
    expect(await service.deps.db.processorEvent.count({ where: { refundId: refund.id } })).toBe(1);
  });
});

describe('when workers are killed', () => {
  const processes = useDeployment();
  let service: TestService;
  let webhooks: Webhooks;
  let worker: ServiceProcess;

  beforeAll(async () => {
    service = processes.service;
    webhooks = await openWebhooks(service);
  });
  beforeEach(async () => {
    await service.sandbox.settings({ latencyMs: 0, autoSettleMs: 0 });
    worker = await processes.startWorker();
  });
  afterEach(async () => {
    await worker.kill();
    await expectInvariants(service);
  });

  test('a webhook that arrives without a worker is on record, and the next worker reads the refund', async () => {
    const refund = await returnedRefund(service, 'stripe');
    await worker.kill();
    const answer = await webhooks.send('stripe', returned('stripe', refund));
    expect(answer.status).toBe(200);
    expect(await rowOf(service, refund.id)).toMatchObject({
      status: 'completed',
      resyncRequestedAt: expect.any(Date),
    });
    worker = await processes.startWorker();
    // The queue may wait until the lock of the killed worker has expired.
    await waitFor(
      'the next worker to read the refund',
      async () => (await rowOf(service, refund.id)).status === 'failed',
    );
  });

  test('a worker that is killed while it reads a refund leaves the reading to the next one', async () => {
    const refund = await returnedRefund(service, 'braintree');
    await service.sandbox.settings({ latencyMs: 1_500 });
    await webhooks.send('braintree', returned('braintree', refund));
    await waitFor(
      'the worker to read the refund',
      async () => (await rowOf(service, refund.id)).leasedUntil !== null,
    );
    await worker.kill();
    const { status, dueAt } = await rowOf(service, refund.id);
    expect([status, dueAt]).toEqual(['completed', expect.any(Date)]);
    await service.sandbox.settings({ latencyMs: 0 });
    worker = await processes.startWorker();
    await waitFor(
      'the next worker to read the refund',
      async () => (await rowOf(service, refund.id)).status === 'failed',
    );
  });
});
