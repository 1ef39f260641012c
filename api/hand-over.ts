import type { IncomingMessage } from 'node:http';
import { newRequestId } from '#shared/platform/ids.ts';
import type { Api } from './http/route.ts';

declare module 'node:http' {
  interface IncomingMessage {
    /** The id that the application which handed the request over has given it. */
    handedOverId?: string;
  }
}

/**
 * Passes every request that `app` has no route for to a second application, which is built when the first of them arrives
 * at the latest; those that arrive earlier wait. It closes once `app` has answered its last request.
 * @param build is given a function that returns the id which a request already has.
 * @returns loads the second application unless that has been done.
 */
export function handOverUnknown(
  app: Api,
  build: (requestIdOf: (request: IncomingMessage) => string) => Promise<Api>,
): () => Promise<unknown> {
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
  return second;
}
