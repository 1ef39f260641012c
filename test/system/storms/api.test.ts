import { expect, test, vi } from 'vitest';
import type { Operation } from '../../support/http/openapi-document.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { useStorm } from '../../support/storm/use-storm.ts';
import { waitFor } from '../../support/wait-for.ts';

vi.setConfig({ testTimeout: 7_200_000 });

// The tests run in this order.
const storm = useStorm();

test('any request to create a refund gets a documented answer, and each 200 is one refund', async () => {
  const { service } = storm.exposed;
  const before = await service.deps.db.refund.count();
  const { outcomes, enough } = await storm.strike('createRefund');
  for (const outcome of ['200', '400 validation_error', '502 processor_error']) {
    expect(outcomes[outcome], outcome).toBeGreaterThan(enough);
  }
  const made = (await service.deps.db.refund.count()) - before;
  const replayed = (outcomes['200'] ?? 0) - made;
  // Some carried the idempotency key of an earlier one.
  expect(made).toBeGreaterThan(0);
  expect(replayed).toBeGreaterThanOrEqual(0);
  await expectInvariants(service);
});

test('any request to cancel a refund gets a documented answer while workers send refunds', async () => {
  const { service } = storm.exposed;
  await service.sandbox.settings({ autoSettleMs: 200 });
  service.startWorker();
  const { outcomes, enough } = await storm.strike('cancelRefund');
  // The workers send most of them before they are cancelled.
  expect(outcomes['200']).toBeGreaterThan(0);
  for (const outcome of ['400 validation_error', '404 not_found', '409 refund_not_cancellable']) {
    expect(outcomes[outcome], outcome).toBeGreaterThan(enough);
  }
});

test('every refund ends after the storm, and the records agree with the processors', async () => {
  const { service } = storm.exposed;
  await waitFor(
    'no refund to be processing',
    async () => (await service.deps.db.refund.count({ where: { status: 'processing' } })) === 0,
    { timeoutMs: 200_000, intervalMs: 200 },
  );
  await expectInvariants(service);
  const byStatus = await service.deps.db.refund.groupBy({ by: ['status'], _count: true });
  console.info(
    `Refunds after the storm: ${byStatus.map(({ status, _count }) => `${status} ${_count}`).join(', ')}`,
  );
});

const changesRefunds = new Set(['createRefund', 'cancelRefund']);

/** Whether an operation changes nothing. */
const isReading = ({ method, operation }: Operation) =>
  method === 'get' || operation.operationId === 'checkPolicy';

test('any request to a reading operation gets a documented answer and changes nothing', async () => {
  const before = await storm.exposed.rowCounts();
  const reading = storm.served.operations.filter(isReading);
  expect(reading.length).toBeGreaterThan(0);
  for (const { operation } of reading) {
    const { outcomes, enough } = await storm.strike(operation.operationId);
    expect(outcomes['200'], operation.operationId).toBeGreaterThan(enough);
  }
  const after = await storm.exposed.rowCounts();
  expect({ ...after, payment: before.payment }).toEqual(before);
});

test('any request to another operation gets a documented answer', async () => {
  const changing = storm.served.operations.filter(
    (each) => !isReading(each) && !changesRefunds.has(each.operation.operationId),
  );
  for (const { path, operation } of changing) {
    const { outcomes, enough } = await storm.strike(operation.operationId);
    // Valid bodies are rare, so a short storm may have none.
    if (path.includes('/webhook-endpoints'))
      expect(outcomes['200'] ?? 0, operation.operationId).toBeGreaterThanOrEqual(Math.floor(enough / 4));
  }
});
