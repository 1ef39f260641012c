import type { Settings } from '#shared/platform/config.ts';
import type { Claim } from '#shared/refunds/lifecycle/claim.ts';
import { retryDelayMs, settlementDelayMs } from '#shared/refunds/model/backoff.ts';

// When a refund that is not finished gets its next step, and when retrying ends. Pure functions.

/** What the outcome depends on besides the answer. */
export interface OutcomeContext {
  claim: Claim;
  settings: Settings;
  /** Uniform in [0, 1). */
  random: () => number;
}

/** The pause before the next retry, in milliseconds. */
export function retryPause(
  { settings, random }: Pick<OutcomeContext, 'settings' | 'random'>,
  consecutiveFailures: number,
  retryAfterMs: number | null = null,
): number {
  const { RETRY_BASE_MS: baseMs, RETRY_CAP_MS: capMs } = settings;
  return retryDelayMs(consecutiveFailures, { baseMs, capMs }, random, retryAfterMs);
}

/** The pause before settlement is checked again, in milliseconds. */
export function settlementPause(
  { settings, random }: Pick<OutcomeContext, 'settings' | 'random'>,
  consecutiveFailures: number,
): number {
  const { SETTLEMENT_BASE_MS: baseMs, SETTLEMENT_CAP_MS: capMs } = settings;
  return settlementDelayMs(consecutiveFailures, { baseMs, capMs }, random);
}

/** True when the retry deadline has passed, counted from the first failure. */
export function isPastDeadline({ claim, settings }: OutcomeContext): boolean {
  const { retryingSince } = claim.work;
  if (retryingSince === null) return false;
  return claim.now.getTime() - retryingSince.getTime() >= settings.RETRY_DEADLINE_MS;
}
