import { setTimeout as sleep } from 'node:timers/promises';
import type { Deployment } from './deployment.ts';
import { acceptedIdOf, type Page, type Told } from './diary.ts';
import type { PlannedCreation } from './orders.ts';

/** How long a client waits for an answer; longer than any that is asked for. */
const patienceMs = 15_000;

/** The pause before a request is repeated for the first time, and the longest one. */
const repeatPauseMs = { first: 300, longest: 5_000 };

export interface ClientOptions {
  deployment: Pick<Deployment, 'apiUrls' | 'keys'>;
  /** Where to write down what was told. */
  page: Page;
  /** Gives up whatever has not been answered yet. */
  signal: AbortSignal;
}

interface Sent {
  method: 'GET' | 'POST';
  path: string;
  body?: unknown;
  idempotencyKey: string | null;
}

/** Asks for a refund until there is an answer to rely on, and does with it what was planned. */
export async function runClient(options: ClientOptions): Promise<void> {
  const { page, signal } = options;
  const { creation } = page;
  await pause(creation.afterMs, signal);
  const copies = Array.from({ length: creation.copies }, (_, copy) => create(options, copy));
  await Promise.all(copies);
  const refundId = acceptedIdOf(page);
  if (refundId !== null) await Promise.all([cancel(options, refundId), read(options, refundId)]);
  page.isConcluded = !signal.aborted;
}

async function create(options: ClientOptions, copy: number): Promise<void> {
  const { name, body, keyed } = options.page.creation;
  const idempotencyKey = keyed ? `create-${name}` : null;
  const sent: Sent = { method: 'POST', path: '/v1/refunds', body, idempotencyKey };
  await untilAnswered(options, sent, options.page.creationAnswers, copy);
}

async function cancel(options: ClientOptions, refundId: string): Promise<void> {
  const { cancelAfterMs, name } = options.page.creation;
  if (cancelAfterMs === null) return;
  await pause(cancelAfterMs, options.signal);
  const sent: Sent = {
    method: 'POST',
    path: `/v1/refunds/${refundId}/cancel`,
    idempotencyKey: `cancel-${name}`,
  };
  await untilAnswered(options, sent, options.page.cancelAnswers, 0);
}

async function read(options: ClientOptions, refundId: string): Promise<void> {
  const { readAfterMs } = options.page.creation;
  if (readAfterMs === null) return;
  await pause(readAfterMs, options.signal);
  const sent: Sent = { method: 'GET', path: `/v1/refunds/${refundId}`, idempotencyKey: null };
  await untilAnswered(options, sent, options.page.readAnswers, 0);
}

/** Repeats a request, each time to the other API, while the answer leaves something open and a repetition is safe. */
async function untilAnswered(
  { deployment, page, signal }: ClientOptions,
  sent: Sent,
  answers: Told[],
  firstApi: number,
): Promise<void> {
  const { apiUrls, keys } = deployment;
  const since = performance.now();
  for (let round = firstApi; !signal.aborted; round += 1) {
    const base = apiUrls[round % apiUrls.length];
    const { told, wasRefused } = await send(`${base}${sent.path}`, sent, page.creation, keys, signal);
    answers.push(told);
    page.longestWaitMs = Math.max(page.longestWaitMs, performance.now() - since);
    const isSafe =
      sent.method === 'GET' || sent.idempotencyKey !== null || wasRefused || told.httpStatus === 503;
    if (!leavesOpen(told) || !isSafe) return;
    await pause(Math.min(repeatPauseMs.first * 2 ** (round - firstApi), repeatPauseMs.longest), signal);
  }
}

/** Nothing came, or what came says that the request may be repeated. */
function leavesOpen({ httpStatus }: Told): boolean {
  return httpStatus === null || httpStatus === 500 || httpStatus === 503;
}

const nothing: Told = { httpStatus: null, errorCode: null, refundId: null, refundStatus: null };

async function send(
  url: string,
  { method, body, idempotencyKey }: Sent,
  { environment, prefer }: PlannedCreation,
  keys: Deployment['keys'],
  signal: AbortSignal,
): Promise<{ told: Told; wasRefused: boolean }> {
  const headers = {
    authorization: `Bearer ${keys[environment]}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(prefer === null ? {} : { prefer }),
    ...(idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey }),
  };
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  try {
    const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
    const response = await fetch(url, { method, headers, ...content, signal: patience });
    return { told: toTold(response.status, await response.json()), wasRefused: false };
  } catch (error) {
    const { cause } = error as { cause?: { code?: string } };
    return { told: nothing, wasRefused: cause?.code === 'ECONNREFUSED' };
  }
}

interface ApiBody {
  data?: { id: string; status: string };
  error?: { code: string };
}

function toTold(httpStatus: number, answer: unknown): Told {
  const { data, error } = answer as ApiBody;
  return {
    httpStatus,
    errorCode: error?.code ?? null,
    refundId: data?.id ?? null,
    refundStatus: data?.status ?? null,
  };
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, null, { signal }).catch(() => {});
}
