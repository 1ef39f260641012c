import fc from 'fast-check';
import { expect } from 'vitest';
import { crash, firstCall, needsWork, type Trouble, troubles, work } from './job-model.ts';
import type { LifecycleModel, ModelRefund } from './model.ts';
import * as lifecycle from './model.ts';
import type { LifecycleWorld } from './world.ts';

/** A run of the real service, and the commands run so far, in words. */
export interface LifecycleRun {
  world: LifecycleWorld;
  done: string[];
}

export interface LifecycleCommand {
  /** False in a state in which the command is skipped. */
  applies(model: LifecycleModel): boolean;
  run(model: LifecycleModel, run: LifecycleRun): Promise<void>;
}

/** What a command acts on. */
interface Scene {
  model: LifecycleModel;
  world: LifecycleWorld;
}

interface RefundScene extends Scene {
  refund: ModelRefund;
  index: number;
}

/** A command after which the service must match the model. */
function command(
  words: (model: LifecycleModel) => string,
  act: (scene: Scene) => Promise<void>,
  applies: (model: LifecycleModel) => boolean = () => true,
): LifecycleCommand {
  return {
    applies,
    async run(model, { world, done }) {
      done.push(words(model));
      await act({ model, world });
      expectLike(lifecycle.inWords(await world.look()), lifecycle.expectedSight(model));
    },
  };
}

function expectLike(seen: string[], expected: string[]): void {
  const wrong = seen.flatMap((line, index) =>
    line === expected[index] ? [] : [`${line};\n  expected: ${expected[index]}`],
  );
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
}

/** The refunds that a command may choose from. */
interface Candidates {
  /** Limits the command to these refunds; all by default. */
  only?: (refund: ModelRefund, model: LifecycleModel) => boolean;
  /** Preferred where any match. */
  rather?: (refund: ModelRefund) => boolean;
}

/** A command on one of the existing refunds. */
function onRefund(
  choice: number,
  words: string,
  act: (scene: RefundScene) => Promise<void>,
  { only = () => true, rather = () => true }: Candidates = {},
): LifecycleCommand {
  const find = (model: LifecycleModel) => {
    const possible = [...model.refunds.entries()].filter(([, refund]) => only(refund, model));
    const preferred = possible.filter(([, refund]) => rather(refund));
    const candidates = preferred.length > 0 ? preferred : possible;
    return candidates[choice % Math.max(1, candidates.length)];
  };
  return command(
    (model) => `refund ${find(model)?.[0]}: ${words}`,
    async ({ model, world }) => {
      const found = find(model);
      if (found === undefined) throw new RangeError('Refund not found in the model');
      const [index, refund] = found;
      await act({ model, world, refund, index });
    },
    (model) => find(model) !== undefined,
  );
}

async function create({ model, world }: Scene, payment: number, amount: number, reachable = true) {
  const expected = lifecycle.create(model, payment, amount, reachable);
  expect(await world.create(payment, amount, reachable), 'the answer to the creation').toBe(expected);
}

const payment = fc.constantFrom(0, 1, 2, 0, 1, 2, 3, 4);
// Mostly the oldest, so that much happens to one refund.
const choice = fc.constantFrom(0, 0, 0, 1, 1, 2, 3, 4);
const trouble = fc.constantFrom<Trouble>('none', 'none', 'none', ...troubles);

const creation = fc
  .record({
    payment,
    amount: fc.constantFrom(500, 1_500, 2_500, 4_500),
    reachable: fc.constantFrom(true, true, false),
  })
  .map(({ payment, amount, reachable }) =>
    command(
      () => `create ${amount} of payment ${payment}${reachable ? '' : ', which cannot be read'}`,
      (scene) => create(scene, payment, amount, reachable),
    ),
  );

const creationAroundTheRest = fc
  .record({ payment, over: fc.constantFrom(0, 1, 1_000) })
  .map(({ payment, over }) =>
    command(
      (model) =>
        `create ${lifecycle.remaining(model, payment) + over} of payment ${payment}, ${over} over the rest`,
      (scene) => create(scene, payment, lifecycle.remaining(scene.model, payment) + over),
      (model) => lifecycle.remaining(model, payment) + over > 0,
    ),
  );

const cancellation = choice.map((chosen) =>
  onRefund(
    chosen,
    'its client cancels it',
    async ({ model, refund, world, index }) => {
      const expected = lifecycle.cancel(model, refund);
      expect(await world.cancel(index), 'the answer to the cancellation').toBe(expected);
    },
    { rather: ({ status }) => status === 'pending' || status === 'processing' },
  ),
);

const decision = fc.record({ choice, approves: fc.boolean() }).map(({ choice, approves }) =>
  onRefund(
    choice,
    `a person ${approves ? 'approves' : 'rejects'} it`,
    async ({ model, refund, world, index }) => {
      const expected = lifecycle.decide(model, refund, approves);
      expect(await world.decide(index, approves), 'the outcome of the decision').toBe(expected);
    },
    { rather: ({ status }) => status === 'pending' },
  ),
);

const resolution = fc
  .record({ choice, status: fc.constantFrom('failed' as const, 'cancelled' as const, 'completed' as const) })
  .map(({ choice, status }) =>
    onRefund(
      choice,
      `a person calls it ${status}`,
      async ({ model, refund, world, index }) => {
        const expected = lifecycle.resolve(model, refund, status);
        expect(await world.resolve(index, status), 'the outcome of the decision').toBe(expected);
      },
      { rather: ({ flagged }) => flagged },
    ),
  );

const job = fc
  .record({ choice, trouble, jobs: fc.constantFrom(1, 1, 1, 2, 3), hours: fc.constantFrom(2, 2, 2, 0, 25) })
  .map(({ choice, trouble, jobs, hours }) =>
    onRefund(
      choice,
      jobInWords(hours, jobs, trouble),
      async ({ model, refund, world, index }) => {
        await passHours({ model, world }, hours);
        const call = firstCall(model, refund);
        work(model, refund, trouble);
        await world.work(index, jobs, trouble, call);
      },
      { rather: needsWork },
    ),
  );

function jobInWords(hours: number, jobs: number, trouble: Trouble): string {
  const when = hours === 0 ? 'at once' : `${hours} hours later`;
  const what = jobs === 1 ? 'a job' : `${jobs} jobs at the same time`;
  return `${when} ${what}, first call: ${trouble === 'none' ? 'answered' : trouble}`;
}

const death = fc
  .record({
    choice,
    when: fc.constantFrom('before' as const, 'after' as const),
    hours: fc.constantFrom(2, 0),
  })
  .map(({ choice, when, hours }) =>
    onRefund(
      choice,
      `${hours} hours later a job, whose worker dies ${when} its call`,
      async ({ model, refund, world, index }) => {
        await passHours({ model, world }, hours);
        crash(model, refund, when);
        await world.crash(index, when);
      },
      { rather: needsWork },
    ),
  );

const settlement = fc
  .record({ choice, to: fc.constantFrom('succeeded' as const, 'succeeded' as const, 'failed' as const) })
  .map(({ choice, to }) =>
    onRefund(
      choice,
      `${to} at its processor`,
      async ({ refund, world, index }) => {
        refund.there = to;
        await world.drive(index, to);
      },
      { only: ({ there }) => there === 'open' },
    ),
  );

/** The processor reverses a refund that had succeeded. */
export function lateFailureOf(chosen: number): LifecycleCommand {
  return onRefund(
    chosen,
    'its processor reverses it and sends a webhook',
    async ({ refund, world, index }) => {
      refund.there = 'failed';
      await world.drive(index, 'failed');
      lifecycle.requestResync(refund);
      expect(await world.sendWebhook(index), 'the answer to the webhook').toBe(200);
    },
    { only: ({ there }) => there === 'succeeded' },
  );
}

const lateFailure = choice.map(lateFailureOf);

function canBeCarriedOutLate(refund: ModelRefund, model: LifecycleModel): boolean {
  const { status, there, attempts, payment } = refund;
  const isMissing = status === 'processing' && there === 'none' && attempts > 0;
  return isMissing && !lifecycle.paymentAt(model, payment).declines;
}

const lateEffect = choice.map((chosen) =>
  onRefund(
    chosen,
    'its processor applies it late and sends a webhook',
    async ({ model, refund, world, index }) => {
      lifecycle.arrive(model, refund);
      await world.carryOutLate(index, refund.amount);
      lifecycle.requestResync(refund);
      expect(await world.sendWebhook(index), 'the answer to the webhook').toBe(200);
    },
    { only: canBeCarriedOutLate },
  ),
);

const resync = choice.map((chosen) =>
  onRefund(chosen, 'a resync is requested', async ({ refund, world, index }) => {
    expect(await world.requestResync(index)).toBe(lifecycle.requestResync(refund));
  }),
);

const repetition = choice.map((chosen) =>
  onRefund(
    chosen,
    'its processor repeats a webhook',
    async ({ world, index }) => {
      // The model does not change: nothing follows from it.
      expect(await world.repeatWebhook(index), 'the answer to the webhook').toBe(200);
    },
    { only: ({ known }) => known },
  ),
);

/** All wake-ups were lost: a worker that looks by itself finds every refund that is due. */
export const workOnEverything: LifecycleCommand = command(
  () => '2 hours later a worker looks for what is due',
  async ({ model, world }) => {
    await passHours({ model, world }, 2);
    const due = [...model.refunds.keys()].filter((index) => {
      const refund = model.refunds[index];
      return refund !== undefined && needsWork(refund);
    });
    expect(await world.workOnWhatIsDue(), 'the refunds that the worker claims').toEqual(due);
    for (const index of due) {
      const refund = model.refunds[index];
      if (refund !== undefined) work(model, refund, 'none');
    }
  },
);

const time = fc.constantFrom(25, 80).map((hours) =>
  command(
    () => `${hours} hours pass`,
    (scene) => passHours(scene, hours),
  ),
);

async function passHours({ model, world }: Scene, hours: number): Promise<void> {
  if (hours === 0) return;
  lifecycle.passHours(model, hours);
  await world.passHours(hours);
}

/** Any sequence of what clients, people, processors, workers and time can do to refunds. */
export function lifecycleCommands(maxLength: number): fc.Arbitrary<LifecycleCommand[]> {
  // Listed once per unit of weight.
  const everything = [
    ...[creation, creation, creationAroundTheRest, job, job, job, job, job, death],
    ...[
      settlement,
      settlement,
      settlement,
      lateFailure,
      lateFailure,
      lateFailure,
      lateEffect,
      resync,
      repetition,
    ],
    ...[cancellation, decision, resolution, fc.constant(workOnEverything), time],
  ];
  // Without the bias towards short sequences.
  return fc.noBias(fc.array(fc.oneof(...everything), { maxLength, size: 'max' }));
}
