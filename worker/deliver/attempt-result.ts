import { redact } from '#shared/platform/log.ts';
import type { AttemptError } from '#shared/webhooks/attempt-error.ts';
import { retryDelayMs } from './retry-schedule.ts';
import type { AttemptResult } from './statements.ts';
import type { Reply } from './transport.ts';

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
