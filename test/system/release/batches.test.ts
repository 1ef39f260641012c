import { afterEach, describe, expect, test } from 'vitest';
import { useDeployment } from '../../support/faults/use-deployment.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { queueBackends } from '../../support/stores/backends.ts';
import { query } from '../../support/stores/database-client.ts';
import { waitFor } from '../../support/wait-for.ts';

const payments = 200;
const rowsPerPayment = 50;

/** Whether a worker has created refunds and not yet recorded them in their rows. */
async function hasUnrecordedRefunds(databaseUrl: string): Promise<boolean> {
  const [row] = await query(
    databaseUrl,
    "SELECT (SELECT count(*) FROM refund) > (SELECT count(*) FROM refund_batch_row WHERE state = 'created') AS is",
  );
  return row?.is === true;
}

describe.each(queueBackends)('the largest batch, queues on $name', (backend) => {
  const processes = useDeployment({ backend });
  afterEach(() => expectInvariants(processes.service));

  test('refunds each of 10,000 rows once, although its worker is killed half way and another one continues', async () => {
    const { service } = processes;
    const transactionIds = await Promise.all(
      Array.from({ length: payments }, () => newPayment(service, { amount: rowsPerPayment * 100 })),
    );
    const rows = transactionIds.flatMap((transactionId) =>
      Array.from({ length: rowsPerPayment }, (_, n) => ({
        transactionId,
        amount: 100,
        reason: 'other',
        metadata: { n },
      })),
    );
    const api = await processes.startApi();
    const first = await processes.startWorker();
    const { status, body } = await api.post('/v1/refund-batches', { rows });
    expect(status, JSON.stringify(body)).toBe(200);
    const readBatch = async () => (await service.call('GET', `/v1/refund-batches/${body.data.id}`)).body.data;
    const untilWaiting = (most: number) =>
      waitFor(`${most} rows to wait`, async () => (await readBatch()).rows.waiting <= most, {
        timeoutMs: 600_000,
        intervalMs: 500,
      });
    await untilWaiting(rows.length / 2);
    await waitFor('the worker to be frozen before it records rows', async () => {
      first.freeze();
      if (await hasUnrecordedRefunds(service.databaseUrl)) return true;
      first.thaw();
      return false;
    });
    await first.kill();
    const second = await processes.startWorker();
    await untilWaiting(0);
    expect(await readBatch()).toMatchObject({
      status: 'completed',
      rows: { total: rows.length, rejected: 0 },
    });
    expect(await service.deps.db.refund.count()).toBe(rows.length);
    await waitFor(
      'every refund to complete',
      async () => (await service.deps.db.refund.count({ where: { status: { not: 'completed' } } })) === 0,
      { timeoutMs: 600_000, intervalMs: 500 },
    );
    // All of each payment was refunded, and no more.
    const moved = await service.deps.db.payment.aggregate({ _sum: { reserved: true, amount: true } });
    expect(moved._sum.reserved).toBe(moved._sum.amount);
    await Promise.all([second.stop(), api.process.stop()]);
  }, 1_500_000);
});
