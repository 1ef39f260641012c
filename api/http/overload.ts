import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServiceError } from '#shared/platform/errors.ts';

const resolutionMs = 10;
const sampleIntervalMs = 500;

/** The process has too many requests at the moment. */
export class OverloadError extends ServiceError {
  constructor(reason: string) {
    super(
      'service_unavailable',
      'Too many concurrent requests. Nothing was changed. Retry in a few seconds.',
      { retryAfterSeconds: 2, cause: new Error(reason) },
    );
  }
}

/** The mean delay of the event loop during the last sample. */
export class EventLoopDelay {
  readonly #histogram = monitorEventLoopDelay({ resolution: resolutionMs });
  readonly #timer: NodeJS.Timeout;
  #meanMs = 0;

  constructor() {
    this.#histogram.enable();
    this.#timer = setInterval(() => {
      const { mean } = this.#histogram;
      // The histogram is empty when the event loop was busy for the whole interval.
      this.#meanMs = Number.isNaN(mean) ? Number.POSITIVE_INFINITY : mean / 1e6 - resolutionMs;
      this.#histogram.reset();
    }, sampleIntervalMs).unref();
  }

  /** @param maxMs 0 for no limit. */
  exceeds(maxMs: number): boolean {
    return maxMs > 0 && this.#meanMs > maxMs;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#histogram.disable();
  }
}

/**
 * Refuses the requests of this instance immediately while the event loop is delayed. Queueing them would delay all of them, and
 * clients that give up would send theirs again.
 */
export function refuseWhileDelayed(
  app: FastifyInstance,
  delay: EventLoopDelay,
  maxMsOf: (request: FastifyRequest) => number,
): void {
  app.addHook('onRequest', (request, _reply, done) => {
    done(delay.exceeds(maxMsOf(request)) ? new OverloadError('the event loop is delayed') : undefined);
  });
}
