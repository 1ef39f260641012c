import { redact } from '#shared/platform/log.ts';
import type { AttemptError } from '#shared/webhooks/deliveries.ts';
import type { AttemptResult } from './record-attempts.ts';
import type { Reply } from './transport.ts';

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

/** The pauses between the attempts of a delivery, in milliseconds, as Standard Webhooks recommends. */
const pausesMs: readonly number[] = [
  5 * secondMs,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  5 * hourMs,
  10 * hourMs,
  10 * hourMs,
];

/** 410 Gone: the endpoint asks for no more events. */
const goneStatus = 410;

/** 429 Too Many Requests and 503 Service Unavailable, whose `Retry-After` is honoured. */
const busyStatuses: readonly (number | null)[] = [429, 503];

/**
 * What an attempt's reply means for its delivery. Pure.
 * @param now when the reply came.
 * @param random uniform in [0, 1).
 */
export function resultOf(
  { status, body, retryAfter, error }: Reply,
  attemptNumber: number,
  now: Date,
  random: () => number,
): Pick<AttemptResult, 'responseStatus' | 'responseBody' | 'error' | 'retryInMs' | 'isGone'> {
  const failure = error ?? failureOf(status);
  const isGone = failure !== null && status === goneStatus;
  const leastMs = busyStatuses.includes(status) ? retryAfterMs(retryAfter, now) : 0;
  return {
    responseStatus: status,
    responseBody: status === null ? null : printable(body),
    error: failure,
    retryInMs: failure === null || isGone ? null : retryDelayMs(attemptNumber, leastMs, random),
    isGone,
  };
}

/** Null for a 2xx status. */
function failureOf(status: number | null): AttemptError | null {
  if (status === null) return 'invalid_response';
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? 'redirect' : 'unsuccessful_status';
}

/** The text of a response without secrets and control characters, which may be anything. */
function printable(body: Buffer): string {
  return redact(body.toString('utf8').replaceAll(/[^\P{C}\n\t]/gu, '�'));
}

const imfDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** @param header seconds, or an HTTP date. @returns 0 without a header, and for one that is neither. */
function retryAfterMs(header: string | null, now: Date): number {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text) * secondMs;
  return imfDate.test(text) ? Math.max(0, Date.parse(text) - now.getTime() || 0) : 0;
}

/**
 * The pause after a failed attempt, in milliseconds, with up to a tenth of jitter, so that deliveries that failed together do
 * not retry together.
 * @param attemptNumber 1 for the first attempt.
 * @param leastMs for how long the endpoint asks to wait. Honoured up to the pauses that are left, in which a delivery would end otherwise.
 * @param random uniform in [0, 1).
 * @returns null after the last attempt.
 */
function retryDelayMs(attemptNumber: number, leastMs: number, random: () => number): number | null {
  const left = pausesMs.slice(attemptNumber - 1);
  const [pauseMs] = left;
  if (pauseMs === undefined) return null;
  const longestMs = left.reduce((sum, each) => sum + each, 0);
  return Math.round(Math.max(pauseMs, Math.min(leastMs, longestMs)) * (1 + random() * 0.1));
}
