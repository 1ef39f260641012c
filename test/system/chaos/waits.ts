/** From when to when something lasted, by `performance.now()`. */
export interface Span {
  sinceMs: number;
  untilMs: number;
}

/** How long clients waited. */
export interface Waits {
  /** The slowest request, its repetitions included. */
  longestMs: number;
  /** The most that a request took besides the time in which PostgreSQL or an API was broken. */
  beyondOutagesMs: number;
}

export function waitsOf(requests: readonly Span[], outages: readonly Span[]): Waits {
  const inOrder = outages.toSorted((a, b) => a.sinceMs - b.sinceMs);
  return {
    longestMs: Math.max(0, ...requests.map(({ sinceMs, untilMs }) => untilMs - sinceMs)),
    beyondOutagesMs: Math.max(0, ...requests.map((request) => beyond(request, inOrder))),
  };
}

function beyond({ sinceMs, untilMs }: Span, inOrder: readonly Span[]): number {
  let [reachedMs, beyondMs] = [sinceMs, 0];
  for (const outage of inOrder) {
    const [fromMs, toMs] = [Math.min(outage.sinceMs, untilMs), Math.min(outage.untilMs, untilMs)];
    beyondMs += Math.max(0, fromMs - reachedMs);
    reachedMs = Math.max(reachedMs, toMs);
  }
  return beyondMs + untilMs - reachedMs;
}
