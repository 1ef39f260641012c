import underPressure from '@fastify/under-pressure';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import fp from 'fastify-plugin';
import { ServiceError } from '../../shared/platform/errors.ts';
import type { ApiDependencies } from './dependencies.ts';

const sampleIntervalMs = 500;

/** The config of routes that are answered under any load, because they report it. */
export const answeredUnderLoad = { pressureHandler: () => undefined };

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

/**
 * Refuses requests immediately while the event loop is delayed. Queueing them would delay all of them, and clients that
 * give up would send theirs again.
 */
export const overload = fp(
  async (app) => {
    await app.register(underPressure, {
      maxEventLoopDelay: app.deps.settings.MAX_EVENT_LOOP_DELAY_MS,
      sampleInterval: sampleIntervalMs,
      pressureHandler: async () => {
        throw new OverloadError('the event loop is delayed');
      },
    });
  },
  { name: 'overload', decorators: { fastify: ['deps'] } },
);

/**
 * Limits the number of concurrent requests, and so of waiters for a database connection. Requests that wait for a refund's
 * outcome, for events or for their body do not count.
 */
export class Admission {
  readonly #max: number;
  readonly #waiting: () => number;
  readonly #inProgress = new Set<FastifyRequest>();

  constructor({ settings, watcher, feed }: ApiDependencies) {
    this.#max = settings.MAX_REQUESTS_IN_PROGRESS;
    this.#waiting = () => watcher.waiting + feed.waiting;
  }

  /** True while a further request would be refused. */
  get isFull(): boolean {
    return this.#inProgress.size - this.#waiting() >= this.#max;
  }

  enter(request: FastifyRequest): void {
    this.#inProgress.add(request);
  }

  leave(request: FastifyRequest): void {
    this.#inProgress.delete(request);
  }
}

/** Counts the requests of this instance, and refuses those above the bound. */
export const limitInProgress = fp<{ admission: Admission }>(
  async (app, { admission }) => {
    const enter = (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction) => {
      if (admission.isFull) return done(new OverloadError('the maximum of requests is in progress'));
      admission.enter(request);
      done();
    };
    app.addHook('onRequest', enter);
    app.addHook('preParsing', (request, _reply, payload, done) => {
      admission.leave(request);
      done(null, payload);
    });
    app.addHook('preValidation', enter);
    // onSend rather than onResponse, which does not wait for the work of a client that has disconnected.
    app.addHook('onSend', (request, _reply, payload, done) => {
      admission.leave(request);
      done(null, payload);
    });
  },
  { name: 'limit-in-progress', dependencies: ['overload'] },
);
