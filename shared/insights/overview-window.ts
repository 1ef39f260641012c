/** The windows that an overview can have, in days. */
export const overviewDays = [7, 30, 90] as const;

export type OverviewDays = (typeof overviewDays)[number];

/** From the beginning of a day in UTC (inclusive) to now (inclusive); the last of the days is not over yet. */
export interface OverviewWindow {
  from: Date;
  to: Date;
  /** `2026-11-21` and so on, the oldest first. */
  days: readonly string[];
}

const dayMs = 86_400_000;

/** The window that ends now and has today as its last day. */
export function windowOf(now: Date, days: OverviewDays): OverviewWindow {
  const today = Math.floor(now.getTime() / dayMs) * dayMs;
  const starts = Array.from({ length: days }, (_, index) => new Date(today - (days - 1 - index) * dayMs));
  return {
    from: new Date(today - (days - 1) * dayMs),
    to: now,
    days: starts.map((start) => start.toISOString().slice(0, 10)),
  };
}
