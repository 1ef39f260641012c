import http from 'node:http';
import fc from 'fast-check';
import type { StormRequest } from './storm-requests.ts';

/** The same requests each time, so that a change is held against what was good before it; `STORM_SEED=7` sends others. */
const seed = Number(process.env.STORM_SEED || 1);
/** For each route. */
const requestCount = Number(process.env.STORM_REQUESTS ?? 75);
/** Sent one after the other, before the others: what the same answers take on an idle service. */
const idleCount = 20;
/** Requests that are under way at once, so that they also meet each other. */
const concurrency = 16;
/** Longer than any answer may take here. */
const hangMs = 20_000;

export interface StormAnswer {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
}

/** A route, and what its answers are held against. */
export interface StormTarget {
  name: string;
  requests: fc.Arbitrary<StormRequest>;
  /** @returns what the answer is counted as. @throws Error for an answer that breaks the promise. */
  check(request: StormRequest, answer: StormAnswer): string;
}

/** How the requests to one route ended. */
export interface StormReport {
  /** How many answers had each status; the code stands behind it where it is an error: `404 not_found`. */
  outcomes: Record<string, number>;
  /** How many of each it takes before anybody can say that the storm tried it. */
  enough: number;
}

/**
 * Sends thousands of generated requests to one route and holds every answer against the promise: it comes, and passes the
 * check of the target.
 * @throws Error with the request, the answer and the seed at the first one that breaks the promise.
 */
export async function storm(port: number, { name, requests, check }: StormTarget): Promise<StormReport> {
  const all = fc.sample(requests, { numRuns: requestCount, seed });
  const agent = new http.Agent({ keepAlive: true, maxSockets: concurrency });
  const outcomes: Record<string, number> = {};
  const slowest = { idle: 0, storm: 0 };
  const sendAll = async (queue: Iterable<StormRequest>, phase: keyof typeof slowest) => {
    for (const request of queue) {
      const since = performance.now();
      const outcome = await outcomeOf(port, agent, request, check);
      slowest[phase] = Math.max(slowest[phase], performance.now() - since);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
  };
  const since = performance.now();
  try {
    await sendAll(all.slice(0, idleCount), 'idle');
    const rest = all.slice(idleCount).values();
    await Promise.all(Array.from({ length: concurrency }, () => sendAll(rest, 'storm')));
  } finally {
    agent.destroy();
  }
  const seconds = ((performance.now() - since) / 1000).toFixed(1);
  const told = Object.entries(outcomes).toSorted(([a], [b]) => a.localeCompare(b));
  console.info(
    `${name}: ${all.length} requests in ${seconds} s (STORM_SEED=${seed}), the slowest took ${slowest.storm.toFixed(0)} ms, ` +
      `idle ${slowest.idle.toFixed(0)} ms: ${told.map(([outcome, count]) => `${outcome} ${count}`).join(', ')}`,
  );
  return { outcomes, enough: requestCount / 100 };
}

async function outcomeOf(
  port: number,
  agent: http.Agent,
  request: StormRequest,
  check: StormTarget['check'],
): Promise<string> {
  let answer: StormAnswer | null = null;
  try {
    answer = await send(port, agent, request);
    return check(request, answer);
  } catch (error) {
    throw new Error(
      `${(error as Error).message}\nrequest: ${JSON.stringify({ ...request, body: request.body?.toString('latin1') }).slice(0, 3_000)}\n` +
        `answer: ${JSON.stringify(answer).slice(0, 2_000)}\nrepeat it with STORM_SEED=${seed}`,
      { cause: error },
    );
  }
}

function send(port: number, agent: http.Agent, request: StormRequest): Promise<StormAnswer> {
  const { method, target, body } = request;
  // A body that is there is announced, whatever the method makes of it.
  const headers = { ...request.headers, ...(body === null ? {} : { 'content-length': body.length }) };
  return new Promise((resolve, reject) => {
    const sent = http.request(
      { host: '127.0.0.1', port, agent, method, path: target, headers },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
        });
      },
    );
    sent.setTimeout(hangMs, () => sent.destroy(new Error(`No answer within ${hangMs} ms.`)));
    sent.on('error', reject);
    sent.end(body ?? undefined);
  });
}
