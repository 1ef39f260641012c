import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '#shared/platform/environment.ts';
import type { ParsedJson } from '../../support/parsed-json.ts';
import type { PlannedCreation } from './orders.ts';

/** How long a client waits for an answer; longer than any wait that it asks for. */
const patienceMs = 15_000;

/** The pause before a request is repeated for the first time, and the longest one: what `Retry-After` says. */
const repeatPauseMs = { first: 300, longest: 2_000 };

/** The content of an answer; null where it has none. */
export interface Answer {
  /** Null when the connection failed or timed out. */
  httpStatus: number | null;
  errorCode: string | null;
  refundId: string | null;
  refundStatus: string | null;
}

/** One refund as its client saw it. */
export interface ClientLog {
  creation: PlannedCreation;
  /** In the order in which they came, of all repetitions and copies. */
  creationAnswers: Answer[];
  cancelAnswers: Answer[];
  readAnswers: Answer[];
  /** True once the client has nothing left to repeat. */
  isConcluded: boolean;
}

export function openClientLog(creation: PlannedCreation): ClientLog {
  return { creation, creationAnswers: [], cancelAnswers: [], readAnswers: [], isConcluded: false };
}

/** The refund that was accepted, as far as the client knows. */
export function acceptedIdOf({ creationAnswers }: ClientLog): string | null {
  return creationAnswers.find(({ httpStatus }) => httpStatus === 200)?.refundId ?? null;
}

/** What clients know of the service. */
export interface Addresses {
  apiUrls: readonly string[];
  keys: Record<Environment, string>;
}

export interface ClientOptions {
  addresses: Addresses;
  log: ClientLog;
  /** Makes the client give up. */
  signal: AbortSignal;
}

interface Sent {
  method: 'GET' | 'POST';
  path: string;
  body?: unknown;
  idempotencyKey: string | null;
}

/** Creates a refund, repeating the request until its outcome is known, then cancels and reads it as planned. */
export async function runClient(options: ClientOptions): Promise<void> {
  const { log, signal } = options;
  const { creation } = log;
  await pause(creation.afterMs, signal);
  const copies = Array.from({ length: creation.copies }, (_, copy) => create(options, copy));
  await Promise.all(copies);
  const refundId = acceptedIdOf(log);
  if (refundId !== null) await Promise.all([cancel(options, refundId), read(options, refundId)]);
  log.isConcluded = !signal.aborted;
}

async function create(options: ClientOptions, copy: number): Promise<void> {
  const { name, body, keyed } = options.log.creation;
  const idempotencyKey = keyed ? `create-${name}` : null;
  const sent: Sent = { method: 'POST', path: '/v1/refunds', body, idempotencyKey };
  await untilAnswered(options, sent, options.log.creationAnswers, copy);
}

async function cancel(options: ClientOptions, refundId: string): Promise<void> {
  const { cancelAfterMs, name } = options.log.creation;
  if (cancelAfterMs === null) return;
  await pause(cancelAfterMs, options.signal);
  const sent: Sent = {
    method: 'POST',
    path: `/v1/refunds/${refundId}/cancel`,
    idempotencyKey: `cancel-${name}`,
  };
  await untilAnswered(options, sent, options.log.cancelAnswers, 0);
}

async function read(options: ClientOptions, refundId: string): Promise<void> {
  const { readAfterMs } = options.log.creation;
  if (readAfterMs === null) return;
  await pause(readAfterMs, options.signal);
  const sent: Sent = { method: 'GET', path: `/v1/refunds/${refundId}`, idempotencyKey: null };
  await untilAnswered(options, sent, options.log.readAnswers, 0);
}

/** Repeats a request, each time at the other API, while its outcome is open and repeating it is safe. */
async function untilAnswered(
  { addresses, log, signal }: ClientOptions,
  sent: Sent,
  answers: Answer[],
  firstApi: number,
): Promise<void> {
  const { apiUrls, keys } = addresses;
  for (let round = firstApi; !signal.aborted; round += 1) {
    const base = apiUrls[round % apiUrls.length];
    const { answer, wasRefused } = await send(`${base}${sent.path}`, sent, log.creation, keys, signal);
    answers.push(answer);
    const isSafe =
      sent.method === 'GET' || sent.idempotencyKey !== null || wasRefused || answer.httpStatus === 503;
    if (!isRepeated(answer) || !isSafe) return;
    await pause(Math.min(repeatPauseMs.first * 2 ** (round - firstApi), repeatPauseMs.longest), signal);
  }
}

/** True without an answer, and for one after which a client repeats its request. */
function isRepeated({ httpStatus }: Answer): boolean {
  return httpStatus === null || httpStatus === 500 || httpStatus === 503;
}

const nothing: Answer = { httpStatus: null, errorCode: null, refundId: null, refundStatus: null };

async function send(
  url: string,
  { method, body, idempotencyKey }: Sent,
  { environment, prefer }: PlannedCreation,
  keys: Addresses['keys'],
  signal: AbortSignal,
): Promise<{ answer: Answer; wasRefused: boolean }> {
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
    const { data, error } = (await response.json()) as ParsedJson;
    const answer = {
      httpStatus: response.status,
      errorCode: error?.code ?? null,
      refundId: data?.id ?? null,
      refundStatus: data?.status ?? null,
    };
    return { answer, wasRefused: false };
  } catch (error) {
    const { cause } = error as { cause?: { code?: string } };
    return { answer: nothing, wasRefused: cause?.code === 'ECONNREFUSED' };
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, null, { signal }).catch(() => {});
}
