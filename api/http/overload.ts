import underPressure from '@fastify/under-pressure';
import type { FastifyInstance, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { ServiceError } from '../../shared/platform/errors.ts';
import type { ApiDependencies } from './dependencies.ts';
import type { Api } from './route.ts';

/** How often it is looked whether the event loop keeps up. */
const sampleIntervalMs = 500;

/** The config of routes that are answered however much there is to do: whoever asks wants to know exactly that. */
export const answeredUnderLoad = { pressureHandler: () => undefined };

/** There is too much to do at the moment, which passes by itself. */
export class OverloadError extends ServiceError {
  constructor(reason: string) {
    super(
      'service_unavailable',
      'Too many requests at once. Nothing was changed; repeat the request in a few seconds.',
      { retryAfterSeconds: 2, cause: new Error(reason) },
    );
  }
}

/**
 * Refuses requests at once while the event loop does not keep up, before anything is done for them: to queue them would
 * make all of them late, and a client that gives up repeats what is still in the queue.
 */
export async function watchEventLoop(app: Api, { settings }: ApiDependencies): Promise<void> {
  await app.register(underPressure, {
    maxEventLoopDelay: settings.MAX_EVENT_LOOP_DELAY_MS,
    sampleInterval: sampleIntervalMs,
    pressureHandler: async () => {
      throw new OverloadError('the event loop does not keep up');
    },
  });
}

/**
 * Bounds how many requests are worked on at the same time, and so how many can wait for a connection to the database:
 * when none gets free, whoever comes on top is refused at once. Requests that only wait for a verdict do not count,
 * nor do those whose body has not arrived yet.
 */
export class Admission {
  readonly #max: number;
  readonly #waitingForVerdict: () => number;
  readonly #inProgress = new Set<FastifyRequest>();

  constructor({ settings, watcher }: ApiDependencies) {
    this.#max = settings.MAX_REQUESTS_IN_PROGRESS;
    this.#waitingForVerdict = () => watcher.waiting;
  }

  /** True while a further request would be refused. */
  get isFull(): boolean {
    return this.#inProgress.size - this.#waitingForVerdict() >= this.#max;
  }

  /** Counts the requests of the routes that are registered on this instance from here on. */
  guard(scope: FastifyInstance): void {
    const enter = (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction) => {
      if (this.isFull) return done(new OverloadError('as many requests as can be are being worked on'));
      this.#inProgress.add(request);
      done();
    };
    scope.addHook('onRequest', enter);
    scope.addHook('preParsing', (request, _reply, payload, done) => {
      this.#inProgress.delete(request);
      done(null, payload);
    });
    scope.addHook('preValidation', enter);
    // Not once the answer is sent, which never happens when the client has left: the work is done all the same.
    scope.addHook('onSend', (request, _reply, payload, done) => {
      this.#inProgress.delete(request);
      done(null, payload);
    });
  }
}
