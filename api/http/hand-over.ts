import type { IncomingMessage } from 'node:http';
import { newRequestId } from '../../shared/platform/ids.ts';
import type { Api } from './route.ts';

/** Answers the requests that another application has no route for. */
export interface SecondApp {
  /** Loads it, unless that has been done; requests that arrive earlier wait for it. */
  load(): Promise<void>;
}

/**
 * Hands every request that `app` has no route for to a second application, which is built when the first of them arrives
 * at the latest. It closes once `app` has answered its last request.
 * @param build is given a function that returns the id which a request already has.
 */
export function handOverUnknown(
  app: Api,
  build: (requestIdOf: (request: IncomingMessage) => string) => Promise<Api>,
): SecondApp {
  const ids = new WeakMap<IncomingMessage, string>();
  let building: Promise<Api> | null = null;
  const second = () => {
    building ??= build((request) => ids.get(request) ?? newRequestId());
    return building;
  };
  // Before the body is read: it is left to the second application.
  app.addHook('onRequest', async (request, reply) => {
    if (!request.is404) return;
    const { routing } = await second();
    ids.set(request.raw, request.id);
    reply.hijack();
    routing(request.raw, reply.raw);
  });
  app.addHook('onClose', async () => {
    const built = await building?.catch(() => null);
    await built?.close();
  });
  return {
    async load() {
      await second();
    },
  };
}
