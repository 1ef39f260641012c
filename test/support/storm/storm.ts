import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import fc from 'fast-check';
import { errorSchema } from '#api/http/route.ts';
import type { Database } from '#shared/platform/database.ts';
import { errorCatalogue } from '#shared/platform/errors.ts';
import type { ExposedService } from '../http/exposed-service.ts';
import { expectDeclared, type ServedDocument } from '../http/openapi-document.ts';
import { seed } from '../seed.ts';
import { waitFor } from '../wait-for.ts';
import type { StormRequest } from './requests.ts';

/** For each route. */
const requestCount = Number(process.env.STORM_REQUESTS ?? 10_000);
/** Of an outcome that requests are generated for; fewer would say that the generator is broken. */
export const enough = requestCount / 100;
/** Requests in progress at once, so that they also meet each other. */
const concurrency = 16;
/** Generated before they are sent, so that generating delays no answer; all at once would take hundreds of megabytes. */
const batchSize = 500;
/** Longer than any answer may take here. */
const hangMs = 20_000;

/** Slower than a machine that is busy with the storm, so that nothing is answered "try later". */
export const stormSettings = {
  CANCEL_WAIT_MS: 100,
  MAX_WAIT_MS: 100,
  TRANSACTION_READ_TIMEOUT_MS: 15_000,
  PROCESSOR_TIMEOUT_MS: 15_000,
};

export interface StormAnswer {
  status: number;
  headers: Record<string, string>;
  text: string;
}

export interface StormTarget {
  name: string;
  /** Read again every few hundred requests, because requests end the sessions that others carry. */
  requests(): fc.Arbitrary<StormRequest> | Promise<fc.Arbitrary<StormRequest>>;
  /** @returns what the answer is counted as. @throws Error for an answer that breaks the promise. */
  check(request: StormRequest, answer: StormAnswer): string;
}

/**
 * Sends thousands of generated requests to one route: each gets an answer that passes the check of the target, no table grows by
 * more rows than there were accepted requests, and the service is ready afterwards.
 * @returns how many answers had each outcome: `200`, `404 not_found`.
 * @throws Error with the request, the answer and the seed at the first one that breaks the promise.
 */
export async function storm(
  { service, port }: ExposedService,
  { name, requests, check }: StormTarget,
): Promise<Record<string, number>> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: concurrency });
  const outcomes: Record<string, number> = {};
  const rowsBefore = await countMade(service.deps.db);
  const sendNext = async (queue: Iterable<StormRequest>) => {
    for (const request of queue) {
      const outcome = await outcomeOf(port, agent, request, check);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
  };
  try {
    for (let sent = 0; sent < requestCount; sent += batchSize) {
      const numRuns = Math.min(batchSize, requestCount - sent);
      const queue = fc.sample(await requests(), { numRuns, seed: seed + sent }).values();
      await Promise.all(Array.from({ length: concurrency }, () => sendNext(queue)));
    }
    const { status } = await send(port, agent, { method: 'GET', target: '/readyz', headers: {}, body: null });
    assert(status === 200, `After the storm at ${name}, /readyz answered ${status}.`);
  } finally {
    agent.destroy();
  }
  const accepted = Object.entries(outcomes)
    .filter(([outcome]) => /^[23]\d\d$|^502 processor_error$/.test(outcome))
    .reduce((sum, [, count]) => sum + count, 0);
  for (const [table, count] of Object.entries(await countMade(service.deps.db))) {
    const made = count - (rowsBefore[table] ?? 0);
    assert(
      made <= accepted,
      `${name}: ${accepted} requests were accepted, but ${table} grew by ${made} rows.`,
    );
  }
  console.info(`${name} (TEST_SEED=${seed}): ${JSON.stringify(outcomes)}`);
  return outcomes;
}

/** Tables that only an accepted request may add rows to. */
const tables = [
  ...(['organization', 'user', 'membership', 'invitation', 'apiKey', 'processorAccount'] as const),
  ...(['policy', 'webhookEndpoint', 'processorEvent', 'refundBatch', 'refund'] as const),
];

/** The number of rows by table. A batch adds its refunds after its request, so those are left out. */
async function countMade(db: Database): Promise<Record<string, number>> {
  const unfinished = { where: { dueAt: { not: null } } };
  await waitFor('the batches', async () => (await db.refundBatch.count(unfinished)) === 0);
  const ofBatches = await db.refundBatchRow.count({ where: { refundId: { not: null } } });
  const counts = tables.map(async (table) => {
    const model = db[table] as { count(): Promise<number> };
    return [table, (await model.count()) - (table === 'refund' ? ofBatches : 0)] as const;
  });
  return Object.fromEntries(await Promise.all(counts));
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
    const sent = JSON.stringify({ ...request, body: request.body?.toString('latin1') }).slice(0, 3_000);
    throw new Error(
      `${(error as Error).message}\nanswer: ${JSON.stringify(answer).slice(0, 2_000)}\nrequest: ${sent}\nTEST_SEED=${seed}`,
      { cause: error },
    );
  }
}

async function send(port: number, agent: http.Agent, request: StormRequest): Promise<StormAnswer> {
  const { method, target: path, body } = request;
  // A body that is there is announced, whatever the method makes of it.
  const headers = { ...request.headers, ...(body === null ? {} : { 'content-length': body.length }) };
  const sent = http.request({ host: '127.0.0.1', port, agent, method, path, headers });
  sent.setTimeout(hangMs, () => sent.destroy(new Error(`No answer within ${hangMs} ms.`)));
  // The connection may end with the answer, before all of the body is sent.
  sent.on('error', () => {});
  sent.end(body ?? undefined);
  const [response] = (await once(sent, 'response')) as [http.IncomingMessage];
  const answered = response.headers as Record<string, string>;
  return { status: response.statusCode ?? 0, headers: answered, text: await textOf(response) };
}

/** Holds an answer that no document declares against the promise: it is no fault of the service. */
export function checkUndeclared({ method }: StormRequest, { status, headers, text }: StormAnswer): string {
  assert(/^req_[a-z0-9]{26}$/.test(headers['x-request-id'] ?? ''), 'The answer has no request id.');
  // Where large bodies are taken, few are at once.
  const isFull = status === 503 && text.includes('Too many concurrent requests');
  assert(status < 500 || isFull, 'A fault of the service.');
  assert(method !== 'HEAD' || text === '', 'HEAD is answered with a body.');
  // A redirect to sign in is a refusal.
  const isSignIn = String(headers.location ?? headers['hx-redirect']).startsWith('/dashboard/sign-in');
  return isSignIn ? `${status} sign-in` : String(status);
}

/**
 * The same for messages to the tools for agents, which report a fault within a success: of a tool, or of the protocol. The
 * protocol's library also calls it an internal error when a message has invalid fields, and then lists them.
 */
export function checkMessage(request: StormRequest, answer: StormAnswer): string {
  const isFault = /"code":("internal_error"|-32603,"message":"(?!\[))/.test(answer.text);
  assert(!isFault, 'A fault of the service within a success.');
  return checkUndeclared(request, answer);
}

/** Refusals that come before a route is chosen, so that no operation declares them. */
const beforeRouting: ReadonlySet<string> = new Set([
  '400 validation_error',
  '404 not_found',
  '405 method_not_allowed',
]);

/** With nothing beside what errors have. */
const errorShape = errorSchema.strict();

/** Holds answers of the API against the OpenAPI document. A processor's refusal (502) is an answer like others. */
export function checkDeclared(served: ServedDocument): StormTarget['check'] {
  return (request, answer) => {
    const { status, headers, text } = answer;
    if (request.method === 'HEAD') return checkUndeclared(request, answer);
    assert(String(headers['content-type']).startsWith('application/json'), 'The answer is no JSON.');
    const body = JSON.parse(text);
    const code = status < 400 ? null : errorShape.parse(body).error.code;
    if (code !== null) assert(errorCatalogue[code].status === status, `${code} does not have this status.`);
    const outcome = code === null ? String(status) : `${status} ${code}`;
    if (outcome !== '502 processor_error') checkUndeclared(request, answer);
    if (beforeRouting.has(outcome)) return outcome;
    // A target may name the server as well, and a parameter may be empty; routes are chosen by the path.
    const [target = ''] = request.target.replace(/^https?:\/\/[^/]*/, '').split(/[?#]/);
    const path = target.replace(/\/(?=\/)/g, '/empty');
    expectDeclared(served, { method: request.method, path }, { status, body, headers });
    return outcome;
  };
}
