import { describe, expect, inject, test } from 'vitest';
import { startProcess } from '../../support/processes/child-process.ts';
import { Random } from '../../support/random.ts';
import { queueBackends } from '../../support/stores/backends.ts';
import { planFaults } from '../chaos/fault-plan.ts';
import { planOrder } from '../chaos/orders.ts';
import { runChaos } from '../chaos/run-chaos.ts';
import { problemLines, verdictLine } from '../chaos/verdict.ts';

// On Redis where there is one, because that can be emptied under it; `npm run chaos -- --queues postgres` has the other.
describe.each(queueBackends.slice(-1))('while everything fails at random, queues on $name', ({ name }) => {
  test('no refund is lost, none moves twice, none is stuck, and nobody is told what is not true', async () => {
    const { verdict, keptIn } = await runChaos({
      seed: 7,
      refunds: 30,
      queues: name,
      compiledFolder: inject('compiledFolder'),
      say: () => {},
    });
    console.log(verdictLine(verdict));
    expect({ problems: problemLines(verdict), keptIn }).toEqual({ problems: [], keptIn: [] });
    expect(verdict.acceptedCount).toBeGreaterThanOrEqual(30);
    expect(verdict.faults.size).toBeGreaterThan(3);
  }, 300_000);
});

test('without redis-server it says in one line what to do', async () => {
  const chaos = startProcess('test/system/chaos/main.ts', { env: { PATH: '/nowhere' } });
  expect(await chaos.exited).toEqual({ code: 2, signal: null });
  expect(chaos.output()).toMatch(/^There is no redis-server on PATH\. .* --queues postgres\n$/);
});

test('the same seed plans the same orders and the same faults, another one others', () => {
  const targets = { apis: ['api-1', 'api-2'], workers: ['worker-1'], redis: true };
  const plan = (seed: number) => {
    const faults = planFaults(new Random(seed), targets);
    const orders = new Random(seed);
    return Array.from({ length: 200 }, (_, number) => [faults.next().value, planOrder(orders, number)]);
  };
  expect(plan(1)).toEqual(plan(1));
  expect(plan(1)).not.toEqual(plan(2));
});
