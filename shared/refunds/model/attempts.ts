import type { RefundEvent, RefundWork } from '../../platform/database.ts';

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

/** The attempt whose outcome is not in the timeline: it is under way, or its worker died. Null for none. */
export function openAttempt(
  work: Pick<RefundWork, 'attemptNumber' | 'attemptStartedAt'> | null,
): Attempt | null {
  if (work === null || work.attemptStartedAt === null) return null;
  return { number: work.attemptNumber, startedAt: work.attemptStartedAt.toISOString(), outcome: null };
}

/** All attempts of a refund, the first one first. */
export function attemptsOf(
  events: readonly Pick<RefundEvent, 'detail'>[],
  work: Pick<RefundWork, 'attemptNumber' | 'attemptStartedAt'> | null,
): Attempt[] {
  const ended = events.map(({ detail }) => (detail as { attempt?: Attempt } | null)?.attempt);
  return [...ended, openAttempt(work)].filter((attempt) => attempt != null);
}
