import type { FastifyInstance } from 'fastify';
import { parse as parseStrictly } from 'lossless-json';
import { ServiceError } from '../shared/errors.ts';

/**
 * Reads JSON bodies more strictly than JavaScript does, because money hangs on them: a key that stands twice with two
 * values is refused rather than decided by its position, and so are keys that could pollute prototypes. An empty body
 * is no body.
 */
export function acceptJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  const parse = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    const text = body.toString();
    if (text.trim() === '') {
      done(null, undefined);
      return;
    }
    try {
      parseStrictly(text);
    } catch (error) {
      done(malformed(error), undefined);
      return;
    }
    parse(request, text, (error, value) => done(error === null ? null : malformed(error), value));
  });
}

function malformed(error: unknown): ServiceError {
  const duplicate = error instanceof SyntaxError ? /Duplicate key '(.{0,60})'/.exec(error.message) : null;
  if (duplicate !== null) {
    return new ServiceError('validation_error', 'body: a key stands twice with different values.', {
      cause: error,
    });
  }
  // The parser descends with the nesting, so what is nested too deeply ends its stack.
  const tooDeep = error instanceof RangeError;
  return new ServiceError(
    'validation_error',
    tooDeep ? 'body: nested too deeply.' : 'body: not valid JSON.',
    {
      cause: error,
    },
  );
}
