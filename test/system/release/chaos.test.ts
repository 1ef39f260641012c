import { describe, expect, inject, test } from 'vitest';
import { seed } from '../../support/seed.ts';
import { queueBackends } from '../../support/stores/backends.ts';
import { runChaos } from '../chaos/run-chaos.ts';
import { problemLines, verdictLine } from '../chaos/verdict.ts';

const refunds = Number(process.env.CHAOS_REFUNDS || 2_000);

// Redis where there is one, because it can lose its data. `npm run chaos -- --queues postgres` tests the other backend.
describe.each(queueBackends.slice(-1))('chaos, queues on $name', ({ name }) => {
  test('loses no refund, moves none twice or at another account, leaves none stuck and answers every client truthfully', async () => {
    const { verdict, keptIn } = await runChaos({
      seed,
      refunds,
      queues: name,
      compiledFolder: inject('compiledFolder'),
      say: () => {},
    });
    console.log(verdictLine(verdict));
    expect({ problems: problemLines(verdict), keptIn }).toEqual({ problems: [], keptIn: [] });
    expect(verdict.acceptedCount).toBeGreaterThanOrEqual(refunds);
    expect(verdict.faults.size).toBeGreaterThan(3);
  }, 3_600_000);
});
