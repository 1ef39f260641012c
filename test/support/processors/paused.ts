import type { Operation } from '#shared/processors/accounts/abilities.ts';

/** The column `rateLimits` of an account whose processor has asked for no call of these operations before a time. */
export function paused(until: Date, ...operations: Operation[]): Record<string, object> {
  const pausedUntil = until.toISOString();
  const limit = { pausedUntil, slowedAt: pausedUntil, slowedTo: 1 };
  return Object.fromEntries(operations.map((operation) => [operation, limit]));
}
