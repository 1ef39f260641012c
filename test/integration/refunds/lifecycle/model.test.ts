import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { isTerminal } from '#shared/refunds/model/states.ts';
import { HeldTime } from '#test/support/clocks.ts';
import {
  type LifecycleCommand,
  type LifecycleRun,
  lateFailureOf,
  lifecycleCommands,
  workOnEverything,
} from '#test/support/lifecycle/commands.ts';
import { approvalAbove, type LifecycleModel, newModel } from '#test/support/lifecycle/model.ts';
import { LifecycleWorld } from '#test/support/lifecycle/world.ts';
import { useWebhooks } from '#test/support/processors/webhooks.ts';
import { storePolicies } from '#test/support/refunds/stored-policies.ts';
import { useService } from '#test/support/use-service.ts';

// `MODEL_RUNS=500 TEST_SEED=2` for more and other sequences; a failure prints the TEST_SEED and MODEL_PATH that reproduce it.
const { MODEL_RUNS = '8', MODEL_PATH } = process.env;
const numRuns = Number(MODEL_RUNS);
/** Includes the shrinking of a failing sequence. */
const limitMs = 120_000 + 4_000 * numRuns;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

// Only commands run jobs and let time pass: at least two hours, longer than any pause or lease.
const time = new HeldTime();
const settings = {
  RETRY_BASE_MS: hourMs,
  RETRY_CAP_MS: hourMs,
  SETTLEMENT_BASE_MS: hourMs,
  SETTLEMENT_CAP_MS: hourMs,
  LOOKUP_SETTLE_DELAY_MS: 10 * minuteMs,
  PROCESSOR_TIMEOUT_MS: 10 * minuteMs,
  CANCEL_WAIT_MS: 0,
};
const service = useService({ workers: 0, settings, overrides: { clock: time } });
const webhooks = useWebhooks(service);

beforeAll(async () => {
  await time.hold(service.ownerDb);
  await service.sandbox.settings({ autoSettleMs: null });
  await storePolicies(service, { approvalAbove: { api: approvalAbove } });
});

/**
 * Without further faults, the sweep alone ends every approved refund, and a refund that the processor reverses afterwards
 * does not stay completed.
 */
async function becomeQuiet(model: LifecycleModel, run: LifecycleRun): Promise<void> {
  run.done.push('then without further faults:');
  for (let round = 0; round < 4; round += 1) {
    for (const [index, refund] of model.refunds.entries()) {
      if (refund.there !== 'open') continue;
      refund.there = 'succeeded';
      await run.world.drive(index, 'succeeded');
    }
    await workOnEverything.run(model, run);
  }
  for (const [index, { status }] of model.refunds.entries()) {
    const hasEnded = status === 'pending' || isTerminal(status);
    expect(hasEnded, `refund ${index} has ended, and is ${status}`).toBe(true);
  }
  await inTurn([lateFailureOf(0), workOnEverything], model, run);
  await run.world.expectInvariants();
}

async function inTurn(commands: LifecycleCommand[], model: LifecycleModel, run: LifecycleRun): Promise<void> {
  for (const command of commands) if (command.applies(model)) await command.run(model, run);
}

let latest: string[] = [];

async function runCommands(commands: LifecycleCommand[]): Promise<void> {
  const model = newModel();
  const world = await LifecycleWorld.open({ service, webhooks, time }, model);
  const run: LifecycleRun = { world, done: [] };
  latest = run.done;
  try {
    await inTurn(commands, model, run);
    await becomeQuiet(model, run);
  } catch (error) {
    throw new Error(inOrder(run.done), { cause: error });
  }
}

function inOrder(done: string[]): string {
  return done.map((words, index) => `${String(index + 1).padStart(4)}. ${words}`).join('\n');
}

test('whatever clients, people, processors, workers and time do, refunds are what the model says', {
  timeout: limitMs + 60_000,
}, async () => {
  const details = await fc.check(fc.asyncProperty(lifecycleCommands(40), runCommands), {
    numRuns,
    ...(MODEL_PATH === undefined ? {} : { path: MODEL_PATH }),
    plugins: [fc.interruptAfterTimeLimit(limitMs)],
  });
  if (details.failed || details.interrupted) throw new Error(report(details));
});

function report(details: fc.RunDetails<unknown>): string {
  const { counterexamplePath, errorInstance, numRuns: runs, numShrinks, seed } = details;
  if (!(errorInstance instanceof Error)) {
    return `After ${limitMs} ms ${runs} of ${numRuns} sequences are through. The latest, so far:\n${inOrder(latest)}`;
  }
  return [
    `Sequence ${runs} fails, and so does this one, to which it was shortened in ${numShrinks} steps:`,
    errorInstance.message,
    String(errorInstance.cause),
    `To repeat it: TEST_SEED=${seed} MODEL_PATH=${counterexamplePath}`,
  ].join('\n\n');
}
