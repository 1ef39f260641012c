import { Random } from '../../support/random.ts';

/** What the processor does with the request that the combination is about, and what its caller gets to know of it. */
export const answers = {
  ok: null,
  rejected: null,
  'credentials refused': 'error-403',
  '429': 'rate-limit',
  '500 not applied': 'error-500',
  '500 applied and replayed': 'error-500-after-apply',
  'timeout before applying': 'timeout',
  'timeout after applying': 'timeout-after-apply',
  'timeout and applied late': 'timeout-late-apply',
  'reset before applying': 'reset',
  'reset after applying': 'reset-after-apply',
  'malformed success': 'malformed',
} as const;

export type Answer = keyof typeof answers;

/** To reads nothing is applied. */
export const answersToReads: readonly Answer[] = [
  'ok',
  'credentials refused',
  '429',
  '500 not applied',
  'timeout before applying',
  'reset before applying',
  'malformed success',
];

export const allAnswers = Object.keys(answers) as Answer[];

/**
 * What the queue does, and how the process comes to harm.
 * - `none`: it is killed at the point.
 * - `job lost`: the same, and the first two jobs never come; the sweep makes up for them.
 * - `job twice`: the same, and every job comes twice in a row.
 * - `two workers at once`: every job is worked on by two processes at the same time; the first to reach the point dies.
 * - `stalled and retaken`: it is frozen at the point instead, another one takes over when the lease has ended, and the
 *   first one goes on: after one job of the other one or, for every second point, when the refund has come to its end.
 */
export const mishaps = [
  'none',
  'job lost',
  'job twice',
  'two workers at once',
  'stalled and retaken',
] as const;

export type Mishap = (typeof mishaps)[number];

export const flowNames = [
  'refund',
  'void',
  'refund turned down at its second try',
  'cancellation of a refund not sent',
  'cancellation of a refund perhaps sent',
  'cancellation of an accepted refund',
  'throttled account',
  'verification',
  'lookup',
  'settlement',
  'review',
] as const;

export type FlowName = (typeof flowNames)[number];

export type ProcessorName = 'stripe' | 'braintree';

/** A run of one flow with one answer of the processor, without any crash. */
export interface Run {
  flow: FlowName;
  processor: ProcessorName;
  answer: Answer;
}

/** One cell of the matrix. */
export interface Combination extends Run {
  /** Where the process dies or freezes. */
  point: string;
  /** For a process that is frozen: whether the refund has come to its end when it goes on. */
  isThawedAtEnd: boolean;
  mishap: Mishap;
  /** True when the client asks for the refund to be cancelled at that point. */
  isCancelled: boolean;
}

export function titleOf({ flow, processor, answer, point, mishap, isCancelled }: Combination): string {
  const cancelled = isCancelled ? ', cancelled there' : '';
  return `${flow} at ${processor}; ${answer}; ${mishap}; ${point}${cancelled}`;
}

/**
 * The crashes of a run: every point that it came by with every mishap, and for a refund also with a cancellation that is
 * asked for at that point. Left out is what is the same for every answer: of runs whose answer is not `ok`, the
 * points before the first attempt and those after the refund is accepted. Flows other than that of a refund differ
 * in one step only, which is not crossed with what the queue does before and after.
 */
export function crossed(run: Run, trace: readonly string[]): Combination[] {
  const isRefund = run.flow === 'refund';
  const created = trace.indexOf('after refund.created');
  const points = isRefund && run.answer !== 'ok' ? aroundAttempts(trace) : trace;
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

/** From the first attempt on until the refund has ended or the processor is known to have it. */
function aroundAttempts(trace: readonly string[]): string[] {
  const first = trace.indexOf('before claim');
  const last = trace.findLastIndex((point) => /^after (attempt|lookup|refund\.failed)/.test(point));
  return trace.slice(first, last + 1).filter((point) => !/mark of what is due|enqueueAll/.test(point));
}

/** As many of the items as asked for, chosen by the seed alone. */
export function slice<T>(items: readonly T[], count: number, seed: number): T[] {
  const random = new Random(seed);
  return items
    .map((item) => ({ item, order: random.next() }))
    .sort((a, b) => a.order - b.order)
    .slice(0, count)
    .map(({ item }) => item);
}
