/** A read that takes this long or longer is slow. */
const slowMs = 500;
/** How long the result of a slow read is reused. */
const reusedMs = 60_000;

/**
 * A cache in this process. Concurrent reads with the same key share one result; that of a slow read is reused for a minute.
 * The key must name everything that the result depends on, the organization included.
 */
export function cacheSlowReads<Result>(): (key: string, read: () => Promise<Result>) => Promise<Result> {
  const results = new Map<string, Promise<Result>>();
  return (key, read) => {
    const cached = results.get(key);
    if (cached !== undefined) return cached;
    const startedAt = performance.now();
    const result = read();
    results.set(key, result);
    const remove = () => results.delete(key);
    result.then(() => {
      if (performance.now() - startedAt < slowMs) remove();
      else setTimeout(remove, reusedMs).unref();
    }, remove);
    return result;
  };
}
