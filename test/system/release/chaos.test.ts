import { describe, expect, inject, test } from 'vitest';
import { startProcess } from '../../support/processes/child-process.ts';
import { Random } from '../../support/random.ts';
import { queueBackends } from '../../support/stores/backends.ts';
import { planFaults } from '../chaos/faults.ts';
import { planOrder } from '../chaos/orders.ts';
import { runChaos } from '../chaos/run-chaos.ts';
import { problemLines, verdictLine } from '../chaos/verdict.ts';

const refunds = Number(process.env.CHAOS_REFUNDS || 2_000);

// Redis where there is one, because it can lose its data. `npm run chaos -- --queues postgres` tests the other backend.
describe.each(queueBackends.slice(-1))('chaos, queues on $name', ({ name }) => {
  test('loses no refund, moves none twice, leaves none stuck and answers every client truthfully', async () => {
    const { verdict, keptIn } = await runChaos({
      seed: 7,
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

test('npm run chaos says in one line what to do without redis-server', async () => {
  const chaos = startProcess('test/system/chaos/main.ts', { env: { PATH: '/nowhere' } });
  expect(await chaos.exited).toEqual({ code: 2, signal: null });
  expect(chaos.output()).toMatch(/^redis-server is not on PATH\. .* --queues postgres\n$/);
});

test('the same seed plans the same orders and faults, and another seed plans others', () => {
  const targets = { apis: ['api-1', 'api-2'], workers: ['worker-1'], redis: true };
  const plan = (seed: number) => {
    const faults = planFaults(new Random(seed), targets);
    const orders = new Random(seed);
    return Array.from({ length: 200 }, (_, number) => [faults.next().value, planOrder(orders, number)]);
  };
  expect(plan(1)).toEqual(plan(1));
  expect(plan(1)).not.toEqual(plan(2));
});
