import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../shared/errors.ts';

/** Headers of which Node takes the first and drops the others, while a proxy in front may do the opposite. */
const onceOnly = ['host', 'authorization', 'content-type', 'content-encoding'];

/** Refuses requests that another server could read in another way than this one. */
export function refuseAmbiguousHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ raw }) => {
    const names = raw.rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
    const twice = onceOnly.find((name) => names.filter((other) => other === name).length > 1);
    if (twice !== undefined) throw new ServiceError('validation_error', `${twice}: send this header once.`);
    if (raw.httpVersion === '1.1' && !names.includes('host')) {
      throw new ServiceError('validation_error', 'host: HTTP/1.1 requires this header.');
    }
  });
  // Without a listener Node answers an unknown Expect by itself and in another shape; HTTP allows to ignore it.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
}
