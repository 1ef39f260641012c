/** A clock that goes only when a test puts it forward. */
export interface StoppedClock {
  /** Milliseconds since 1970. */
  ms: number;
}

export function stoppedClock(): StoppedClock {
  return { ms: Date.parse('2026-03-01T12:00:00Z') };
}
