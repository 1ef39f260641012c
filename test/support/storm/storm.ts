import http from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { errorSchema } from '../../../api/http/route.ts';
import { errorCatalogue } from '../../../shared/platform/errors.ts';
import type { Operation, ServedDocument } from '../http/openapi-document.ts';
import { requestsTo, type StormRequest, type StormSources } from './storm-requests.ts';

/** The same requests each time, so that a change is held against what was good before it; `STORM_SEED=7` sends others. */
const seed = Number(process.env.STORM_SEED || 1);
/** For each operation. */
const requestCount = Number(process.env.STORM_REQUESTS || 75);
/** Requests that are under way at once, so that they also meet each other. */
const concurrency = 16;
/** Longer than any answer may take here. */
const hangMs = 20_000;

interface Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
}

/** How the requests to one operation ended. */
export interface StormReport {
  /** How many answers had each status; the code stands behind it where it is an error: `404 not_found`. */
  outcomes: Record<string, number>;
  /** How many of each it takes before anybody can say that the storm tried it. */
  enough: number;
}

/**
 * Sends thousands of generated requests to one operation and holds every answer against the promise: it comes, it is no
 * fault of the service, and it has the shape that the OpenAPI document declares for its status. A processor's refusal
 * (502 `processor_error`) is an answer like others.
 * @throws Error with the request, the answer and the seed at the first one that breaks the promise.
 */
export async function storm(port: number, operation: Operation, sources: StormSources): Promise<StormReport> {
  const requests = fc.sample(requestsTo(operation, sources), { numRuns: requestCount, seed });
  const answers = answersOf(sources.served);
  const agent = new http.Agent({ keepAlive: true, maxSockets: concurrency });
  const outcomes: Record<string, number> = {};
  const since = performance.now();
  const queue = requests.values();
  const sendNext = async () => {
    for (const request of queue) {
      const outcome = await outcomeOf(port, agent, request, answers);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, sendNext)).finally(() => agent.destroy());
  const seconds = ((performance.now() - since) / 1000).toFixed(1);
  const told = Object.entries(outcomes).toSorted(([a], [b]) => a.localeCompare(b));
  console.info(
    `${operation.operation.operationId}: ${requests.length} requests in ${seconds} s (STORM_SEED=${seed}): ` +
      told.map(([outcome, count]) => `${outcome} ${count}`).join(', '),
  );
  return { outcomes, enough: requestCount / 100 };
}

async function outcomeOf(
  port: number,
  agent: http.Agent,
  request: StormRequest,
  answers: DeclaredAnswers,
): Promise<string> {
  let answer: Answer | null = null;
  try {
    answer = await send(port, agent, request);
    return checkAnswer(request, answer, answers);
  } catch (error) {
    throw new Error(
      `${(error as Error).message}\nrequest: ${JSON.stringify({ ...request, body: request.body?.toString('latin1') }).slice(0, 3_000)}\n` +
        `answer: ${JSON.stringify(answer).slice(0, 2_000)}\nrepeat it with STORM_SEED=${seed}`,
      { cause: error },
    );
  }
}

function send(port: number, agent: http.Agent, request: StormRequest): Promise<Answer> {
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

/** What may be answered: for every operation and status a check of the body. */
type DeclaredAnswers = (
  method: string,
  target: string,
) => ReadonlyMap<number, (body: unknown) => void> | null;

function answersOf(served: ServedDocument): DeclaredAnswers {
  const known = served.operations.map(({ method, path, operation }) => ({
    method: method.toUpperCase(),
    segments: path.split('/'),
    answers: new Map(
      Object.entries<{ content?: { 'application/json': { schema: unknown } } }>(operation.responses).map(
        ([status, { content }]) => {
          if (content === undefined)
            throw new Error(`${method} ${path} does not say what ${status} looks like.`);
          const schema = served.schemaOf(content['application/json'].schema);
          const check = (body: unknown) =>
            demand(isDeepStrictEqual(schema.parse(body), body), 'The body has more than is declared.');
          return [Number(status), check] as const;
        },
      ),
    ),
  }));
  return (method, target) => {
    // A target may name the server as well; routes are chosen by the path.
    const path = target.replace(/^https?:\/\/[^/]*/, '').split(/[?#]/)[0] ?? '';
    // A trailing slash is the same route.
    const segments = path.replace(/(.)\/$/, '$1').split('/');
    const found = known.find(
      (one) =>
        one.method === (method === 'HEAD' ? 'GET' : method) &&
        one.segments.length === segments.length &&
        one.segments.every(
          (segment, at) => segment.startsWith('{') || segment === decoded(segments[at] ?? ''),
        ),
    );
    return found?.answers ?? null;
  };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Vitest's own expectations take longer than the requests do. */
function demand(holds: boolean, complaint: string): void {
  if (!holds) throw new Error(complaint);
}

/** Refusals that come before a route is chosen, so that no operation declares them. */
const beforeRouting: ReadonlySet<string> = new Set([
  '400 validation_error',
  '404 not_found',
  '405 method_not_allowed',
]);

/** @returns the status, with the code where there is one. */
function checkAnswer({ method, target }: StormRequest, answer: Answer, answers: DeclaredAnswers): string {
  const { status, headers, text } = answer;
  demand(/^req_[a-z0-9]{26}$/.test(String(headers['x-request-id'])), 'The answer has no request id.');
  if (method === 'HEAD') {
    demand(text === '' && status < 500, 'HEAD is answered with a fault or a body.');
    return String(status);
  }
  demand(/^application\/json/.test(String(headers['content-type'])), 'The answer is no JSON.');
  const body: unknown = JSON.parse(text);
  const outcome = status < 400 ? String(status) : `${status} ${codeOf(status, body)}`;
  demand(status < 500 || outcome === '502 processor_error', 'A fault of the service.');
  const declared = answers(method, target)?.get(status);
  if (declared !== undefined) declared(body);
  else demand(beforeRouting.has(outcome), `${outcome} is not declared.`);
  return outcome;
}

function codeOf(status: number, body: unknown): string {
  const { error } = errorShape.parse(body);
  demand(/\S/.test(error.message), 'The message is empty.');
  demand(errorCatalogue[error.code].status === status, `${error.code} does not have this status.`);
  return error.code;
}

/** With nothing beside what errors have. */
const errorShape = errorSchema.strict();
