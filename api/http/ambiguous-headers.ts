import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../../shared/platform/errors.ts';

/** Headers of which Node takes the first and drops the others, while a proxy in front may do the opposite. */
const onceOnly = new Set(['host', 'authorization', 'content-type', 'content-encoding']);

/** Refuses requests that another server could read in another way than this one. */
export function refuseAmbiguousHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    const seen = new Set<string>();
    for (let index = 0; index < raw.rawHeaders.length; index += 2) {
      const name = raw.rawHeaders[index]?.toLowerCase() ?? '';
      if (!onceOnly.has(name)) continue;
      if (seen.has(name))
        return done(new ServiceError('validation_error', `${name}: send this header once.`));
      seen.add(name);
    }
    if (raw.httpVersion === '1.1' && !seen.has('host')) {
      return done(new ServiceError('validation_error', 'host: HTTP/1.1 requires this header.'));
    }
    done();
  });
  // Without a listener Node answers an unknown Expect by itself and in another shape; HTTP allows to ignore it.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
}
