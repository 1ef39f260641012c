import { afterEach, describe, expect, test } from 'vitest';
import type { ServiceProcess } from '../support/faults/service-process.ts';
import { useDeployment } from '../support/faults/use-deployment.ts';
import { isRelease, releaseTest, testedBackends } from '../support/release.ts';
import { waitFor } from '../support/wait-for.ts';
import { addEndpoint, recordCancellation, recordRefunds } from '../support/webhooks/endpoints.ts';
import { responses, useReceivers } from '../support/webhooks/receivers.ts';

describe.each(testedBackends)('webhooks of workers in processes, queues on $name', (backend) => {
  const newReceiver = useReceivers();
  const processes = useDeployment({ backend });
  const started: ServiceProcess[] = [];
  const startWorker = async () => {
    const worker = await processes.startWorker();
    started.push(worker);
    return worker;
  };
  afterEach(async () => {
    await Promise.all(started.splice(0).map((worker) => worker.kill()));
    await processes.service.deps.db.webhookEndpoint.deleteMany();
  });

  /** Ends the leases of workers that were killed. */
  const endLeases = async () =>
    await processes.service.deps.db.$executeRaw`
      UPDATE webhook_delivery SET leased_until = service_time(), next_attempt_at = service_time()
      WHERE leased_until > service_time()`;

  const untilDelivered = async (count: number) => {
    const { webhookDelivery } = processes.service.deps.db;
    await waitFor(
      `${count} deliveries`,
      async () => (await webhookDelivery.count({ where: { status: 'succeeded' } })) === count,
      { timeoutMs: 150_000 },
    );
  };

  test('workers that are killed at any time lose no event and keep the order of each refund', async () => {
    const { service } = processes;
    const receivers = [await newReceiver(), await newReceiver(), await newReceiver()];
    for (const { url } of receivers) await addEndpoint(service, { url });
    const refunds: string[] = [];
    for (let round = 0; round < (isRelease ? 5 : 3); round += 1) {
      const worker = await startWorker();
      const added = await recordRefunds(service, 30);
      const seen = receivers.reduce((sum, { received }) => sum + received.length, 0);
      for (const id of added) await recordCancellation(service, id);
      refunds.push(...added);
      await waitFor('a few webhooks', () => {
        const now = receivers.reduce((sum, { received }) => sum + received.length, 0);
        return now > seen + round * 7;
      });
      await worker.kill();
      await endLeases();
    }
    await startWorker();
    await untilDelivered(receivers.length * refunds.length * 2);
    const { body } = await service.call('GET', '/v1/events?limit=100&type=refund.cancelled');
    expect(body.data.length).toBeGreaterThan(0);
    for (const receiver of receivers) {
      const firsts = new Map<string, number>();
      for (const [index, { event }] of receiver.received.entries()) {
        if (!firsts.has(event.id)) firsts.set(event.id, index);
      }
      expect(firsts.size).toBe(refunds.length * 2);
      for (const id of refunds) {
        const [created, cancelled] = ['refund.created', 'refund.cancelled'].map((type) =>
          receiver.received.findIndex(({ event }) => event.refundId === id && event.type === type),
        );
        expect(created).toBeLessThan(cancelled ?? -1);
      }
    }
  });

  releaseTest('of 50 endpoints, one that hangs delays none of the others', async () => {
    const { service } = processes;
    const alive = await newReceiver();
    const dead = await newReceiver(responses.hang);
    for (let each = 0; each < 49; each += 1) await addEndpoint(service, { url: `${alive.url}/${each}` });
    const { id: endpointId } = await addEndpoint(service, { url: dead.url });
    const { db } = service.deps;
    await recordRefunds(service, 25);
    await startWorker();
    await waitFor(
      'the deliveries',
      async () => (await db.webhookDelivery.count({ where: { endpointId } })) === 25,
    );
    await untilDelivered(49 * 25);
    const { length: attempts } = dead.received;
    expect(attempts).toBeGreaterThan(0);
    expect(await db.webhookDelivery.count({ where: { endpointId, status: 'pending' } })).toBe(25);
    // Every one of them is the first attempt of its delivery, of which 10 run at once until one has failed.
    expect(new Set(dead.received.map(({ event }) => event.id)).size).toBe(attempts);
  });
});
