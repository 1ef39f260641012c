import { Client, type Dispatcher } from 'undici';

export type LoadRequest = Dispatcher.RequestOptions;

interface LoadOptions {
  /** The server; only its host and port count. */
  url: string;
  connections: number;
  seconds: number;
  next: () => LoadRequest;
  /** Takes the body of each 200. */
  onBody: (body: string) => void;
}

interface LoadResult {
  /** Milliseconds from request to answer, one entry per 200. */
  latencies: number[];
  elapsedMs: number;
  /** How many requests were answered otherwise, or not at all, by status or error. */
  refusals: Record<string, number>;
}

/**
 * Sends requests over a fixed number of connections, one at a time on each. A connection that the server closes is opened
 * again. After the end, what was sent is still answered, so that each request of a load counts.
 */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const result: LoadResult = { latencies: [], elapsedMs: 0, refusals: {} };
  const startedAt = performance.now();
  const endsAt = startedAt + options.seconds * 1000;
  await Promise.all(Array.from({ length: options.connections }, () => drive(options, endsAt, result)));
  result.elapsedMs = performance.now() - startedAt;
  return result;
}

async function drive(
  { url, next, onBody }: LoadOptions,
  endsAt: number,
  { latencies, refusals }: LoadResult,
): Promise<void> {
  const client = new Client(new URL(url).origin);
  for (let sentAt = performance.now(); sentAt < endsAt; sentAt = performance.now()) {
    let refusal: string;
    try {
      const answer = await client.request(next());
      const body = await answer.body.text();
      if (answer.statusCode === 200) {
        latencies.push(performance.now() - sentAt);
        onBody(body);
        continue;
      }
      refusal = String(answer.statusCode);
    } catch (error) {
      refusal = (error as NodeJS.ErrnoException).code ?? 'closed';
    }
    refusals[refusal] = (refusals[refusal] ?? 0) + 1;
  }
  await client.destroy();
}
