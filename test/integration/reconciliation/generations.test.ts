import { expect, test } from 'vitest';
import { marksInMemory } from '#shared/refunds/lifecycle/position-marks.ts';
import { endRecovery, readRecovery, requireRecovery } from '#shared/refunds/lifecycle/recovery.ts';
import { createdRefund } from '#test/support/refunds/flagged-refunds.ts';
import { useService } from '#test/support/use-service.ts';
import { feedPositionTask } from '#worker/schedule/feed-position.ts';

const service = useService({ workers: 0 });

test('a recovery ends, although the clock of the database was ahead in an earlier one', async () => {
  const { db, log } = service.deps;
  await createdRefund(service, 'stripe');
  const positionMarks = marksInMemory();
  const keep = () => feedPositionTask({ db, positionMarks, log }).run(new AbortController().signal);
  await db.$executeRaw`UPDATE recovery SET generation = split_part(generation, '/', 1) || '/2099-01-01T00:00:00.000'`;
  await keep();
  await requireRecovery(db);
  await endRecovery(db);
  await keep();
  expect((await readRecovery(db, positionMarks.reached)).maySend).toBe(true);
});
