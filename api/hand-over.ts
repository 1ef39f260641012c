import type { IncomingMessage } from 'node:http';
import { newRequestId } from '#shared/platform/ids.ts';
import type { Api } from './http/route.ts';

declare module 'node:http' {
  interface IncomingMessage {
    /** The id that the application which handed the request over has given it. */
    handedOverId?: string;
  }
}

/** An application that answers the requests another one has no route for. */
export interface SecondApp {
  /** Loads it unless that has been done. Requests that arrive earlier wait. */
  load(): Promise<void>;
}

/**
 * Passes every request that `app` has no route for to a second application, which is built when the first of them arrives
 * at the latest. It closes once `app` has answered its last request.
 * @param build is given a function that returns the id which a request already has.
 */
export function handOverUnknown(
  app: Api,
  build: (requestIdOf: (request: IncomingMessage) => string) => Promise<Api>,
): SecondApp {
  let building: Promise<Api> | null = null;
  const second = () => {
    building ??= build(({ handedOverId }) => handedOverId ?? newRequestId());
    return building;
  };
  // Before the body is read, which is left to the second application.
  app.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) return done();
    second()
      .then(({ routing }) => {
        request.raw.handedOverId = request.id;
        reply.hijack();
        routing(request.raw, reply.raw);
      })
      .catch(done);
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
