import { redact } from '#shared/platform/log.ts';
import type { AttemptError } from '#shared/webhooks/attempt-error.ts';
import type { AttemptResult } from './statements.ts';
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

/**
 * What an attempt's reply means for its delivery. Pure.
 * @param random uniform in [0, 1).
 */
export function resultOf(
  { status, body, error }: Reply,
  attemptNumber: number,
  random: () => number,
): Pick<AttemptResult, 'responseStatus' | 'responseBody' | 'error' | 'retryInMs' | 'isGone'> {
  const failure = error ?? failureOf(status);
  const isGone = failure !== null && status === goneStatus;
  return {
    responseStatus: status,
    responseBody: status === null ? null : printable(body),
    error: failure,
    retryInMs: failure === null || isGone ? null : retryDelayMs(attemptNumber, random),
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

/**
 * The pause after a failed attempt, in milliseconds, with up to a tenth of jitter, so that deliveries that failed together do
 * not retry together.
 * @param attemptNumber 1 for the first attempt.
 * @param random uniform in [0, 1).
 * @returns null after the last attempt.
 */
function retryDelayMs(attemptNumber: number, random: () => number): number | null {
  const pauseMs = pausesMs[attemptNumber - 1];
  return pauseMs === undefined ? null : Math.round(pauseMs * (1 + random() * 0.1));
}
