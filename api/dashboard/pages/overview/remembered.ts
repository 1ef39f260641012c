/** What takes less is read anew for everyone. */
const longMs = 500;
/** How long the rest is shown to everyone who asks for the same. */
const keptMs = 60_000;

/**
 * Reads through a memory: who asks for what is being read gets the same, and what took long is kept for a minute. What it reads
 * should say when that was.
 */
export function remember<Read>(): (key: string, read: () => Promise<Read>) => Promise<Read> {
  const kept = new Map<string, Promise<Read>>();
  return (key, read) => {
    const known = kept.get(key);
    if (known !== undefined) return known;
    const startedAt = performance.now();
    const reading = read();
    kept.set(key, reading);
    const forget = () => kept.delete(key);
    reading.then(() => {
      if (performance.now() - startedAt < longMs) forget();
      else setTimeout(forget, keptMs).unref();
    }, forget);
    return reading;
  };
}
