import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { PROCESSORS } from '../sandbox/processors.ts';
import { accept, refundOfNewPayment, untilAtProcessor, untilCompleted } from '../support/faults/refunds.ts';
import { useDeployment } from '../support/faults/use-deployment.ts';
import { expectInvariants } from '../support/refunds/invariants.ts';
import { rowOf } from '../support/refunds/refund-records.ts';
import { releaseTest, testedBackends } from '../support/release.ts';
import { waitFor } from '../support/wait-for.ts';

describe.each(testedBackends)('processes that get SIGTERM, queues on $name', (backend) => {
  const processes = useDeployment({ backend });
  afterEach(async () => {
    await processes.service.sandbox.clearFaults();
    await expectInvariants(processes.service);
  });

  releaseTest('a worker finishes its calls, records their outcomes, and exits with 0', async () => {
    const { service } = processes;
    const worker = await processes.startWorker({ PROCESSOR_TIMEOUT_MS: '20000' });
    for (const processor of PROCESSORS) {
      await service.sandbox.fault({ processor, operation: 'refund.create', kind: 'delay', delayMs: 3_000 });
    }
    const ids = await Promise.all(PROCESSORS.map((processor) => accept(service, processor)));
    await untilAtProcessor(service, ids);
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    for (const id of ids) {
      expect(await rowOf(service, id)).toMatchObject({
        externalRefundId: expect.any(String),
        attempts: [{ outcome: 'accepted' }],
      });
    }
    await expectToComplete(ids);
  });

  test('an API answers waiting clients, closes connections without a request, and exits with 0', async () => {
    const { service } = processes;
    // Longer than it may take to stop.
    const api = await processes.startApi({ CREATE_WAIT_MS: '60000' });
    const unused = connect(Number(new URL(api.url).port), '127.0.0.1');
    await once(unused, 'connect');
    const creating = api.post('/v1/refunds', await refundOfNewPayment(service, 'stripe'));
    await waitFor('the refund to be on record', () =>
      service.deps.db.refund.findFirst({ where: { status: 'processing' } }),
    );
    const exit = await api.process.stop();
    const { status, body } = await creating;
    expect({ status, refund: body.data.status }).toEqual({ status: 200, refund: 'processing' });
    expect(exit).toEqual({ code: 0, signal: null });
    unused.destroy();
    await expectToComplete([body.data.id]);
  });

  /** Finishes open refunds with a worker of this process. */
  async function expectToComplete(ids: readonly string[]): Promise<void> {
    const worker = processes.service.startWorker();
    await untilCompleted(processes.service, ids);
    await worker.close();
  }
});
