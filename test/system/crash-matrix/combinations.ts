import { Random } from '../../support/random.ts';

/** How the processor answers the request, as a fault of the sandbox. */
export const answers = {
  ok: null,
  rejected: null,
  'this object refused': { status: 403, message: 'This charge belongs to another application.' },
  'credentials refused': { status: 401 },
  'ability refused': {
    status: 403,
    message:
      "The provided key does not have the required permissions. Having the 'rak_refund_write' permission would help.",
  },
  'balance too low': { status: 400, message_code: 'insufficient_balance_for_refund' },
  'held for a reviewer': 'approval',
  '429': 'rate-limit',
  '500 not applied': 'error-500',
  '500 applied and replayed': 'error-500-after-apply',
  'timeout before applying': 'timeout',
  'timeout after applying': 'timeout-after-apply',
  'timeout and applied late': 'timeout-late-apply',
  'reset before applying': 'reset',
  'reset after applying': 'reset-after-apply',
  'malformed success': 'malformed',
} as const satisfies Record<string, string | object | null>;

export type Answer = keyof typeof answers;

/** Without those that apply a change. */
export const answersToReads: readonly Answer[] = [
  'ok',
  'this object refused',
  'credentials refused',
  'ability refused',
  '429',
  '500 not applied',
  'timeout before applying',
  'reset before applying',
  'malformed success',
];

export const allAnswers = Object.keys(answers) as Answer[];

/** Those that only Stripe gives, and only to a submission. */
export const answersOfStripe: readonly Answer[] = ['balance too low', 'held for a reviewer'];

/**
 * What happens to wake-ups and to the process.
 * - `none`: the process is killed at the point.
 * - `wake-up lost`: the same, and the first two wake-ups are lost, so that a worker finds the refund when it looks by itself.
 * - `two workers at once`: two processes work on the refund at once; the first to reach the point is killed.
 * - `stalled and retaken`: the process is frozen at the point, another one takes over after the lease, and the first one
 *   continues: after one job of the other one or, for every second point, when the refund has ended.
 */
export const mishaps = ['none', 'wake-up lost', 'two workers at once', 'stalled and retaken'] as const;

export type Mishap = (typeof mishaps)[number];

export const flowNames = [
  'refund',
  'refund of a direct charge',
  'refund of a destination charge',
  'void',
  'refund turned down at its second try',
  'cancellation of a refund not sent',
  'cancellation of a refund perhaps sent',
  'cancellation of an accepted refund',
  'paused sends',
  'verification',
  'lookup',
  'settlement',
  'review',
] as const;

export type FlowName = (typeof flowNames)[number];

export type ProcessorName = 'stripe' | 'braintree';

/** A flow with one answer of the processor, without a crash. */
export interface Run {
  flow: FlowName;
  processor: ProcessorName;
  answer: Answer;
}

/** One cell of the matrix. */
export interface Combination extends Run {
  /** Where the process is killed or frozen. */
  point: string;
  /** For a frozen process: whether it continues only when the refund has ended. */
  isThawedAtEnd: boolean;
  mishap: Mishap;
  /** Whether the client cancels the refund at that point. */
  isCancelled: boolean;
}

export function titleOf({ flow, processor, answer, point, mishap, isCancelled }: Combination): string {
  const cancelled = isCancelled ? ', cancelled there' : '';
  return `${flow} at ${processor}; ${answer}; ${mishap}; ${point}${cancelled}`;
}

/** Flows that differ in what each of their calls names, and not in their steps. */
const wholeRefunds: readonly FlowName[] = [
  'refund',
  'refund of a direct charge',
  'refund of a destination charge',
];

/**
 * The combinations of a run: every point with every mishap, and for a refund also with a cancellation at that point. Runs
 * whose answer is not `ok` skip the points before the first attempt and after the acceptance, which are the same for every
 * answer. Flows other than `refund` differ in one step only, or in what the calls name, and skip the mishaps of the queue.
 */
export function crossed(run: Run, trace: readonly string[]): Combination[] {
  const isRefund = run.flow === 'refund';
  const created = trace.indexOf('after refund.created');
  const points = wholeRefunds.includes(run.flow) && run.answer !== 'ok' ? aroundAttempts(trace) : trace;
  return points.flatMap((point, index) =>
    mishaps
      .filter((mishap) => isRefund || mishap === 'none' || mishap === 'stalled and retaken')
      .flatMap((mishap) => {
        const combination = { ...run, point, mishap, isThawedAtEnd: index % 2 === 1, isCancelled: false };
        const canBeCancelled = isRefund && trace.indexOf(point) >= created;
        return canBeCancelled ? [combination, { ...combination, isCancelled: true }] : [combination];
      }),
  );
}

/** The points from the first attempt until the refund has ended or is known to be at the processor. */
function aroundAttempts(trace: readonly string[]): string[] {
  const first = trace.indexOf('before claim');
  const settling = trace.indexOf('after claim to settle');
  const last = trace.findLastIndex(
    (point, index) =>
      /^after (attempt|lookup|refund\.failed)/.test(point) ||
      (point === 'after refund.completed' && (settling === -1 || index < settling)),
  );
  return trace.slice(first, last + 1);
}

/** Chooses `count` items by the seed. */
export function slice<T>(items: readonly T[], count: number, seed: number): T[] {
  const random = new Random(seed);
  return items
    .map((item) => ({ item, order: random.next() }))
    .sort((a, b) => a.order - b.order)
    .slice(0, count)
    .map(({ item }) => item);
}
