import { Agent, request } from 'node:http';

export interface FloodAnswer {
  /** 0 when the connection broke. */
  status: number;
  body: string;
  retryAfter: string | undefined;
  /** From the moment that the request was made. */
  ms: number;
}

/**
 * Makes many requests at once, each on a connection of its own, and waits for all answers.
 * @param bodies one for each request, sent as JSON by POST.
 */
export async function flood(
  url: string,
  authorization: string,
  bodies: readonly unknown[],
): Promise<FloodAnswer[]> {
  const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
  const headers = { authorization, 'content-type': 'application/json' };
  return await Promise.all(bodies.map((body) => postOne(url, { agent, headers }, JSON.stringify(body))));
}

function postOne(url: string, options: object, body: string): Promise<FloodAnswer> {
  const since = performance.now();
  return new Promise((resolve) => {
    const settle = (status: number, text: string, retryAfter?: string) =>
      resolve({ status, body: text, retryAfter, ms: Math.round(performance.now() - since) });
    const sent = request(url, { ...options, method: 'POST' }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => settle(response.statusCode ?? 0, text, response.headers['retry-after']));
    });
    sent.on('error', (error) => settle(0, error.message));
    sent.end(body);
  });
}

/** The given share of the answers took at most this long. */
export function percentileMs(answers: readonly FloodAnswer[], share: number): number {
  const times = answers.map(({ ms }) => ms).toSorted((a, b) => a - b);
  return times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
}
