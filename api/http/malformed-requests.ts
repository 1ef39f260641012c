import fp from 'fastify-plugin';
import { ServiceError } from '../../shared/platform/errors.ts';
import { holdsStorableTexts, isStorable, unstorableMessage } from '../../shared/platform/json.ts';

/** Headers of which Node keeps the first, while a proxy in front may keep the last. */
const onceOnly = new Set(['host', 'authorization', 'content-type', 'content-encoding']);

/**
 * Refuses requests that another server could read differently, and text in a query or body that PostgreSQL cannot store.
 * Ids in a path are looked up like any other, and unknown.
 */
export const malformedRequests = fp(
  async (app) => {
    app.addHook('onRequest', ({ raw }, _reply, done) => {
      const problem = headerProblem(raw.rawHeaders, raw.httpVersion);
      done(problem === null ? undefined : new ServiceError('validation_error', problem));
    });
    app.addHook('preValidation', ({ body, query }, _reply, done) => {
      const problem = textProblem('body', body) ?? textProblem('query', query);
      done(problem === null ? undefined : new ServiceError('validation_error', problem));
    });
    // Without a listener Node answers an unknown Expect header itself, in another shape. HTTP allows ignoring it.
    app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  },
  { name: 'malformed-requests' },
);

function headerProblem(rawHeaders: readonly string[], httpVersion: string): string | null {
  const seen = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? '';
    if (!onceOnly.has(name)) continue;
    if (seen.has(name)) return `${name}: send this header once.`;
    seen.add(name);
  }
  return httpVersion === '1.1' && !seen.has('host') ? 'host: HTTP/1.1 requires this header.' : null;
}

/** Names the field, or the place when the field's own name cannot be shown. */
function textProblem(place: string, content: unknown): string | null {
  if (holdsStorableTexts(content)) return null;
  const isField = ([name, value]: [string, unknown]) => isStorable(name) && !holdsStorableTexts(value);
  const [field] = Array.isArray(content) ? [] : Object.entries(content ?? {}).filter(isField);
  return `${field?.[0].slice(0, 40) ?? place}: ${unstorableMessage}.`;
}
