import { afterEach, describe, expect, test } from 'vitest';
import { deliveryQueueName } from '#shared/platform/queues.ts';
import type { ServiceProcess } from '../support/faults/service-process.ts';
import { useDeployment } from '../support/faults/use-deployment.ts';
import { isRelease, releaseTest, testedBackends } from '../support/release.ts';
import { waitFor } from '../support/wait-for.ts';
import { addEndpoint, recordCancellation, recordRefunds } from '../support/webhooks/endpoints.ts';
import { type Receiver, responses, useReceivers, verify } from '../support/webhooks/receivers.ts';

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

  const idsOf = ({ received }: Receiver) => received.map(({ headers }) => headers['webhook-id']);

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

  releaseTest(
    'a worker that is killed during an attempt repeats it in another one, with the same id',
    async () => {
      const { service } = processes;
      const receiver = await newReceiver(responses.hang);
      const { secret } = await addEndpoint(service, { url: receiver.url });
      const first = await startWorker();
      await recordRefunds(service, 1);
      await waitFor('the attempt', () => receiver.received.length === 1);
      await first.kill();
      receiver.respond = responses.accept;
      await startWorker();
      await endLeases();
      await untilDelivered(1);
      expect(receiver.received).toHaveLength(2);
      expect(new Set(idsOf(receiver)).size).toBe(1);
      for (const webhook of receiver.received) verify(webhook, secret);
      const { attempts } = await service.deps.db.webhookDelivery.findFirstOrThrow();
      expect(attempts).toMatchObject([{ error: 'interrupted' }, { responseStatus: 204 }]);
    },
  );

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

  test('a worker that gets SIGTERM finishes its attempts, records them, and exits with 0', async () => {
    const { service } = processes;
    const answers: (() => void)[] = [];
    const receiver = await newReceiver((response) => answers.push(() => responses.accept(response)));
    await addEndpoint(service, { url: receiver.url });
    const worker = await startWorker();
    await recordRefunds(service, 3);
    await waitFor('the attempts', () => receiver.received.length === 3);
    const stopped = worker.stop();
    await worker.waitForOutput(/"closing"/);
    for (const answer of answers) answer();
    expect(await stopped).toEqual({ code: 0, signal: null });
    const deliveries = await service.deps.db.webhookDelivery.findMany();
    const delivered = { status: 'succeeded', attempts: [{ responseStatus: 204 }] };
    expect(deliveries).toMatchObject([delivered, delivered, delivered]);
  });

  releaseTest('an emptied queue loses no delivery that was requested', async () => {
    const { service } = processes;
    const receiver = await newReceiver();
    const { id } = await addEndpoint(service, { url: receiver.url });
    const queue = service.deps.queues.map((each) => each).find(({ name }) => name === deliveryQueueName);
    for (let each = 0; each < 10; each += 1) await service.call('POST', `/v1/webhook-endpoints/${id}/test`);
    await waitFor('the wake-up', async () => (await queue?.getJobCountByTypes('waiting')) === 1);
    await queue?.drain(true);
    await startWorker();
    await untilDelivered(10);
    expect(new Set(idsOf(receiver)).size).toBe(10);
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
    expect(new Set(idsOf(dead)).size).toBe(attempts);
  });
});
