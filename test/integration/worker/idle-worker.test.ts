import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { untilCompleted } from '../../support/refunds/refund-records.ts';
import { type Recording, recordStatements } from '../../support/stores/statements.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

// Begins before the service connects.
let recording: Recording;
beforeAll(() => {
  recording = recordStatements();
});
afterAll(() => recording.stop());

const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0, SWEEP_INTERVAL_MS: 1 } });
beforeEach(() => service.sandbox.settings({ autoSettleMs: 0 }));

const isLook = (text: string) => text.includes('"settledPosition"');

/** What a worker asks once there is something to do, and once as it starts. */
const questions = [
  'claim_due_refunds(',
  'UPDATE refund_batch SET due_at',
  'settled_event_position() AS settled FROM webhook_cursor',
  'WITH RECURSIVE clock',
  'UPDATE reconciliation_run SET claimed_until',
];

const sent = () => recording.statements.map(({ text }) => text);

/** Starts a worker and waits until it has asked everything. */
async function startIdle() {
  const worker = service.startWorker();
  await waitFor('the questions of the start', () =>
    questions.every((question) => sent().some((text) => text.includes(question))),
  );
  recording.statements.length = 0;
  return worker;
}

test('an idle worker looks for refunds, batches, deliveries and reconciliations in one statement', async () => {
  const worker = await startIdle();
  await waitFor('three looks', () => sent().filter(isLook).length >= 3);
  await worker.close();
  // The claims of the two processors may come one after the other at the start.
  const asked = questions.filter((question) => sent().filter((text) => text.includes(question)).length > 1);
  expect(asked).toEqual([]);
});

test('a refund whose wake-up is lost is claimed after the next look of an idle worker', async () => {
  vi.spyOn(service.deps.queues, 'wake').mockImplementation(() => {});
  const worker = await startIdle();
  await waitFor('a look', () => sent().some(isLook));
  recording.statements.length = 0;
  await untilCompleted(service, [(await newRefund(service)).id]);
  const texts = sent().slice(sent().findIndex((text) => text.includes('create_refunds(')));
  const looks = texts
    .slice(
      0,
      texts.findIndex((text) => text.includes('claim_due_refunds(')),
    )
    .filter(isLook);
  // One may have begun before the refund was stored.
  expect(looks.length).toBeLessThanOrEqual(2);
  await worker.close();
  vi.restoreAllMocks();
});
