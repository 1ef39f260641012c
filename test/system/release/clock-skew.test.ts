import { afterEach, describe, expect, test } from 'vitest';
import { PROCESSORS } from '../../sandbox/processors.ts';
import type { ApiProcess } from '../../support/faults/deployment.ts';
import { refundOfNewPayment, untilCompleted } from '../../support/faults/refunds.ts';
import { useDeployment } from '../../support/faults/use-deployment.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { queueBackends } from '../../support/stores/backends.ts';
import { query } from '../../support/stores/database-client.ts';

const hourMs = 60 * 60 * 1000;

/** Arguments that start a process on a machine whose clock is ahead. */
function ahead(ms: number) {
  return [{ FALSE_TIME_AHEAD_MS: String(ms) }, 'false-system-time'] as const;
}

describe.each(queueBackends)('machines whose clocks are wrong, queues on $name', (backend) => {
  const processes = useDeployment({ backend });
  afterEach(() => expectInvariants(processes.service));

  async function createThrough({ post }: ApiProcess): Promise<string[]> {
    const ids: string[] = [];
    for (const processor of PROCESSORS) {
      const { status, body } = await post(
        '/v1/refunds',
        await refundOfNewPayment(processes.service, processor),
      );
      expect(status).toBe(200);
      ids.push(body.data.id);
    }
    return ids;
  }

  // One direction for each backend, because queues carry no times of refunds.
  const skewed =
    backend.name === 'redis'
      ? { api: 'ahead', apiMs: hourMs, worker: 'behind', workerMs: -hourMs }
      : { api: 'behind', apiMs: -hourMs, worker: 'ahead', workerMs: hourMs };

  test.each([skewed])(
    'an API an hour $api and a worker an hour $worker complete refunds',
    async ({ apiMs, workerMs }) => {
      const { service } = processes;
      const [api, worker] = await Promise.all([
        processes.startApi(...ahead(apiMs)),
        processes.startWorker(...ahead(workerMs)),
      ]);
      await service.sandbox.fault({ processor: 'stripe', operation: 'refund.create', kind: 'rate-limit' });
      await service.sandbox.fault({
        processor: 'braintree',
        operation: 'refund.create',
        kind: 'timeout-after-apply',
      });
      const ids = await createThrough(api);
      await untilCompleted(service, ids);
      for (const id of ids) await expectDatedByTheDatabase(id);
      await Promise.all([api.process.stop(), worker.stop()]);
    },
  );

  async function expectDatedByTheDatabase(id: string): Promise<void> {
    const rows = await query(
      processes.service.databaseUrl,
      `SELECT max(abs(extract(epoch FROM clock_timestamp() - at))) AS seconds FROM (
         SELECT created_at AS at FROM refund WHERE id = '${id}' UNION ALL
         SELECT (detail->'attempt'->>'startedAt')::timestamptz FROM refund_event WHERE refund_id = '${id}' UNION ALL
         SELECT created_at FROM refund_event WHERE refund_id = '${id}') AS dates`,
    );
    expect(Number(rows[0]?.seconds)).toBeLessThan(60);
  }
});
