/** How long a client wants to wait for an outcome, as it says in the Prefer header (RFC 7240). */
export interface WaitPreference {
  waitMs: number;
  /** What to answer as Preference-Applied; null when the client asked for nothing. */
  applied: string | null;
}

/**
 * Reads `Prefer: respond-async` and `Prefer: wait=N` (seconds). What is not understood is ignored, as the RFC demands;
 * respond-async wins over wait.
 * @param defaultMs the wait of a client that asks for nothing.
 * @param maxMs longer waits are cut to this.
 */
export function readWaitPreference(
  header: string | string[] | undefined,
  defaultMs: number,
  maxMs: number,
): WaitPreference {
  const preferences = [header ?? []]
    .flat()
    .flatMap((line) => line.split(','))
    .map((preference) => preference.trim().toLowerCase());
  if (preferences.includes('respond-async')) return { waitMs: 0, applied: 'respond-async' };
  const seconds = preferences
    .map((preference) => /^wait *= *"?(\d{1,6})"?$/.exec(preference)?.[1])
    .find(Boolean);
  if (seconds === undefined) return { waitMs: Math.min(defaultMs, maxMs), applied: null };
  const waitMs = Math.min(Number(seconds) * 1000, maxMs);
  return { waitMs, applied: `wait=${Math.floor(waitMs / 1000)}` };
}
