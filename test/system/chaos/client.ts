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
  answers: Record<'creation' | 'cancel' | 'read', Answer[]>;
  /** True once the client has nothing left to repeat. */
  isConcluded: boolean;
}

/** The refund that was accepted, as far as the client knows. */
export function acceptedIdOf({ answers }: ClientLog): string | null {
  return answers.creation.find(({ httpStatus }) => httpStatus === 200)?.refundId ?? null;
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
  idempotencyKey?: string;
}

/** Creates a refund, repeating the request until its outcome is known, then cancels and reads it as planned. */
export async function runClient(options: ClientOptions): Promise<void> {
  const { log, signal } = options;
  const { name, body, keyed, copies, afterMs, cancelAfterMs, readAfterMs } = log.creation;
  /** @param first the API that is tried first. */
  const send = async (kind: keyof ClientLog['answers'], ms: number | null, sent: Sent, first = 0) => {
    if (ms === null) return;
    await pause(ms, signal);
    await untilAnswered(options, sent, log.answers[kind], first);
  };
  const key = keyed ? { idempotencyKey: `create-${name}` } : {};
  const creation: Sent = { method: 'POST', path: '/v1/refunds', body, ...key };
  await Promise.all(Array.from({ length: copies }, (_, copy) => send('creation', afterMs, creation, copy)));
  const path = `/v1/refunds/${acceptedIdOf(log)}`;
  if (acceptedIdOf(log) !== null) {
    await Promise.all([
      send('cancel', cancelAfterMs, {
        ...{ method: 'POST', path: `${path}/cancel`, idempotencyKey: `cancel-${name}` },
      }),
      send('read', readAfterMs, { method: 'GET', path }),
    ]);
  }
  log.isConcluded = !signal.aborted;
}

/** Repeats a request, each time at the other API, while its outcome is open and repeating it is safe. */
async function untilAnswered(
  options: ClientOptions,
  sent: Sent,
  answers: Answer[],
  firstApi: number,
): Promise<void> {
  const { addresses, signal } = options;
  const { apiUrls } = addresses;
  for (let round = firstApi; !signal.aborted; round += 1) {
    const { answer, wasRefused } = await request(`${apiUrls[round % apiUrls.length]}`, sent, options);
    answers.push(answer);
    const { httpStatus } = answer;
    const isOpen = httpStatus === null || httpStatus === 500 || httpStatus === 503;
    const isSafe = sent.method === 'GET' || 'idempotencyKey' in sent || wasRefused || httpStatus === 503;
    if (!isOpen || !isSafe) return;
    await pause(Math.min(repeatPauseMs.first * 2 ** (round - firstApi), repeatPauseMs.longest), signal);
  }
}

async function request(
  base: string,
  { method, path, body, idempotencyKey }: Sent,
  { addresses, log, signal }: ClientOptions,
): Promise<{ answer: Answer; wasRefused: boolean }> {
  const { environment, prefer } = log.creation;
  const headers = {
    authorization: `Bearer ${addresses.keys[environment]}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(prefer === null ? {} : { prefer }),
    ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
  };
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  try {
    const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
    const response = await fetch(`${base}${path}`, { method, headers, ...content, signal: patience });
    const { data, error } = (await response.json()) as ParsedJson;
    const refund = { refundId: data?.id ?? null, refundStatus: data?.status ?? null };
    const answer = { httpStatus: response.status, errorCode: error?.code ?? null, ...refund };
    return { answer, wasRefused: false };
  } catch (error) {
    const { cause } = error as { cause?: { code?: string } };
    const answer = { httpStatus: null, errorCode: null, refundId: null, refundStatus: null };
    return { answer, wasRefused: cause?.code === 'ECONNREFUSED' };
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, null, { signal }).catch(() => {});
}
