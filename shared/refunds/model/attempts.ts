import type { Settings } from '../../platform/config.ts';
import type { Refund, RefundEvent, RefundWork } from '../../platform/database.ts';
import { processorKind } from '../../processors/registry.ts';

/** How an attempt to send a refund ended. */
export type AttemptOutcome = 'accepted' | 'rejected' | 'unavailable' | 'unknown' | 'misconfigured';

/** An attempt, as `attempt` in the detail of the event that ended it. */
export interface Attempt {
  /** From 1. */
  number: number;
  /** ISO 8601. */
  startedAt: string;
  /** Null until it is known, and where a person resolved the refund first. */
  outcome: AttemptOutcome | null;
}

type AttemptedWork = Pick<RefundWork, 'attemptNumber' | 'attemptStartedAt'>;

/** The attempt whose outcome is not in the timeline: it is under way, or its worker died. Null for none. */
export function openAttempt(work: AttemptedWork | null): Attempt | null {
  if (work === null || work.attemptStartedAt === null) return null;
  return { number: work.attemptNumber, startedAt: work.attemptStartedAt.toISOString(), outcome: null };
}

/** All attempts of a refund, the first one first. */
export function attemptsOf(
  events: readonly Pick<RefundEvent, 'detail'>[],
  work: AttemptedWork | null,
): Attempt[] {
  const ended = events.map(({ detail }) => (detail as { attempt?: Attempt } | null)?.attempt);
  return [...ended, openAttempt(work)].filter((attempt) => attempt != null);
}

/** The time for recording an answer after the deadline of the call. */
const recordingMarginMs = 10_000;

/** The length of a lease: longer than any call to a processor can last. */
export function leaseMs({ PROCESSOR_TIMEOUT_MS }: Pick<Settings, 'PROCESSOR_TIMEOUT_MS'>): number {
  return PROCESSOR_TIMEOUT_MS + recordingMarginMs;
}

/** Stripe does not say how long it may carry out what it answered with a server error. A day is as long as it keeps a key for certain. */
const afterServerErrorMs = 24 * 60 * 60 * 1000;

/**
 * When a lookup that finds nothing begins to prove that the last attempt was not applied, in the database's time: the processor's
 * settle delay after the outcome became unknown, and a day after it has answered with a server error. A worker that died recorded no
 * outcome: then the attempt ended with its lease, which began with the attempt.
 */
export function lookupConclusiveAt(
  settings: Pick<Settings, 'PROCESSOR_TIMEOUT_MS' | 'LOOKUP_SETTLE_DELAY_MS'>,
  { processor }: Pick<Refund, 'processor'>,
  work: Pick<RefundWork, 'unknownSince' | 'attemptStartedAt' | 'serverErrorAt'>,
): Date {
  const { unknownSince, attemptStartedAt, serverErrorAt } = work;
  const endMs = Math.max(
    unknownSince?.getTime() ?? 0,
    attemptStartedAt === null ? 0 : attemptStartedAt.getTime() + leaseMs(settings),
  );
  const { LOOKUP_SETTLE_DELAY_MS: givenMs } = settings;
  const settledMs = endMs + (givenMs ?? processorKind(processor).settleDelayMs);
  const repairedMs = serverErrorAt === null ? 0 : serverErrorAt.getTime() + (givenMs ?? afterServerErrorMs);
  return new Date(Math.max(settledMs, repairedMs));
}
