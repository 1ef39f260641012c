import underPressure from '@fastify/under-pressure';
import type { FastifyInstance } from 'fastify';
import { ServiceError } from '#shared/platform/errors.ts';

const sampleIntervalMs = 500;

const retryAfterSeconds = 2;

/** The process has too many requests at the moment. */
export class OverloadError extends ServiceError {
  constructor(reason = 'the event loop is delayed') {
    super(
      'service_unavailable',
      'Too many concurrent requests. Nothing was changed. Retry in a few seconds.',
      { retryAfterSeconds, cause: new Error(reason) },
    );
  }
}

/** For `config` of a route that answers while the event loop is delayed. */
export const answersAlways = { pressureHandler: () => undefined };

/**
 * Refuses requests immediately while the mean delay of the event loop exceeds a limit. Queueing them would delay all of them, and
 * clients that give up would send theirs again.
 * @param maxMs 0 for no limit.
 * @returns whether requests are refused at the moment.
 */
export async function refuseWhileDelayed(app: FastifyInstance, maxMs: number): Promise<() => boolean> {
  if (maxMs === 0) return () => false;
  await app.register(underPressure, {
    maxEventLoopDelay: maxMs,
    sampleInterval: sampleIntervalMs,
    retryAfter: retryAfterSeconds,
    customError: OverloadError,
  });
  return () => app.isUnderPressure();
}
