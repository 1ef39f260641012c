/** From when to when something lasted, by `performance.now()`. */
export interface Span {
  sinceMs: number;
  untilMs: number;
}

/** A request of a client, from the first time it was sent to its last answer. */
export interface WaitedFor extends Span {
  /** Each time it was sent: where to, when, and what came back. */
  attempts: readonly string[];
}

/** How long clients waited. */
export interface Waits {
  /** The slowest request, its repetitions included. */
  longestMs: number;
  /** The most that a request took besides the time in which PostgreSQL or an API was broken. */
  beyondOutagesMs: number;
  /** The attempts of that request. */
  attempts: readonly string[];
}

export function waitsOf(requests: readonly WaitedFor[], outages: readonly Span[]): Waits {
  const inOrder = outages.toSorted((a, b) => a.sinceMs - b.sinceMs);
  const waits: Waits = { longestMs: 0, beyondOutagesMs: 0, attempts: [] };
  for (const request of requests) {
    waits.longestMs = Math.max(waits.longestMs, request.untilMs - request.sinceMs);
    const beyondOutagesMs = beyond(request, inOrder);
    if (beyondOutagesMs > waits.beyondOutagesMs) {
      waits.beyondOutagesMs = beyondOutagesMs;
      waits.attempts = request.attempts;
    }
  }
  return waits;
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
