import http from 'node:http';
import fc from 'fast-check';
import type { StormRequest } from './storm-requests.ts';

/** The same requests each time, so that a change is held against what was good before it; `STORM_SEED=7` sends others. */
const seed = Number(process.env.STORM_SEED || 1);
/** For each route. */
const requestCount = Number(process.env.STORM_REQUESTS ?? 10_000);
/** Sent one after the other, before the others: what answers take on an idle service. */
const idleCount = 20;
/** Requests in progress at once, so that they also meet each other. */
const concurrency = 16;
/** Generated before they are sent, so that generating delays no answer; all at once would take hundreds of megabytes. */
const batchSize = 500;
/** Longer than any answer may take here. */
const hangMs = 20_000;
/** Alone, no answer may take longer than this and than so many times the median of an idle service. */
const slowMs = 2_000;
const slowFactor = 10;
/** Answered by every storm's service, whatever became of its data. */
const control: StormRequest = { method: 'GET', target: '/readyz', headers: {}, body: null };

export interface StormAnswer {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
}

/** A route, and what its answers are held against. */
export interface StormTarget {
  name: string;
  /** Read again every few hundred requests, because requests end the sessions that others carry. */
  requests(): fc.Arbitrary<StormRequest> | Promise<fc.Arbitrary<StormRequest>>;
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

interface TimedRequest {
  request: StormRequest;
  tookMs: number;
}

/**
 * Sends thousands of generated requests to one route and holds every answer against the promise: it comes, passes the check of
 * the target, and is not slow because of what its request contains. Afterwards the service is ready.
 * @throws Error with the request, the answer and the seed at the first one that breaks the promise.
 */
export async function storm(port: number, { name, requests, check }: StormTarget): Promise<StormReport> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: concurrency });
  const outcomes: Record<string, number> = {};
  const sendTimed = async (request: StormRequest): Promise<TimedRequest> => {
    const since = performance.now();
    const outcome = await outcomeOf(port, agent, request, check);
    const tookMs = performance.now() - since;
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    return { request, tookMs };
  };
  /** @returns the slowest first. */
  const sendAll = async (all: readonly StormRequest[], atOnce: number): Promise<TimedRequest[]> => {
    const sent: TimedRequest[] = [];
    const queue = all.values();
    const sendNext = async () => {
      for (const request of queue) sent.push(await sendTimed(request));
    };
    await Promise.all(Array.from({ length: atOnce }, sendNext));
    return sent.toSorted((a, b) => b.tookMs - a.tookMs);
  };
  const since = performance.now();
  const sample = async (made: number, numRuns: number) =>
    fc.sample(await requests(), { numRuns, seed: seed + made });
  try {
    const idle = await sendAll(await sample(0, idleCount), 1);
    const idleMs = idle[idleCount / 2]?.tookMs ?? 0;
    let slowest = idle;
    for (let made = idleCount; made < requestCount; made += batchSize) {
      const batch = await sample(made, Math.min(batchSize, requestCount - made));
      slowest = slowestOf([slowest, await sendAll(batch, concurrency)].flat());
    }
    for (const each of slowest) await demandFastAlone(each, Math.max(slowMs, slowFactor * idleMs), sendTimed);
    const { status } = await send(port, agent, control);
    if (status !== 200) throw new Error(`After the storm at ${name}, ${control.target} answered ${status}.`);
    report(name, outcomes, {
      idleMs,
      slowestMs: slowest[0]?.tookMs ?? 0,
      seconds: (performance.now() - since) / 1000,
    });
  } finally {
    agent.destroy();
  }
  return { outcomes, enough: requestCount / 100 };
}

/** As many as can have waited for a single slow one. */
function slowestOf(sent: readonly TimedRequest[]): TimedRequest[] {
  return sent.toSorted((a, b) => b.tookMs - a.tookMs).slice(0, concurrency);
}

/** Repeats a request whose answer took long. Answers are slow when the machine is busy, but not three times in a row. */
async function demandFastAlone(
  { request, tookMs }: TimedRequest,
  limitMs: number,
  sendTimed: (request: StormRequest) => Promise<TimedRequest>,
): Promise<void> {
  let aloneMs = tookMs;
  for (let sent = 0; sent < 3 && aloneMs > limitMs; sent += 1) aloneMs = (await sendTimed(request)).tookMs;
  if (aloneMs <= limitMs) return;
  throw new Error(`Alone, the answer took ${aloneMs} ms of at most ${limitMs} ms.\n${repeatable(request)}`);
}

function report(
  name: string,
  outcomes: StormReport['outcomes'],
  times: { idleMs: number; slowestMs: number; seconds: number },
): void {
  const counts = Object.entries(outcomes).toSorted(([a], [b]) => a.localeCompare(b));
  const sent = counts.reduce((sum, [, count]) => sum + count, 0);
  console.info(
    `${name}: ${sent} requests in ${times.seconds.toFixed(1)} s (STORM_SEED=${seed}), the slowest took ` +
      `${times.slowestMs.toFixed(0)} ms, idle median ${times.idleMs.toFixed(0)} ms: ` +
      counts.map(([outcome, count]) => `${outcome} ${count}`).join(', '),
  );
}

/** What is needed to send a request again. */
function repeatable(request: StormRequest): string {
  const shown = JSON.stringify({ ...request, body: request.body?.toString('latin1') }).slice(0, 3_000);
  return `request: ${shown}\nrepeat it with STORM_SEED=${seed}`;
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
      `${(error as Error).message}\nanswer: ${JSON.stringify(answer).slice(0, 2_000)}\n${repeatable(request)}`,
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
