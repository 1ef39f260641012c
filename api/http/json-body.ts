import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../../shared/platform/errors.ts';
import { jsonProblem } from './strict-json.ts';

/**
 * Reads JSON bodies more strictly than JavaScript does, because money hangs on them: a key that stands twice with two
 * values is refused rather than decided by its position, and so are keys that could pollute prototypes, bytes that are
 * not UTF-8 and numbers that would silently become others. An empty body is no body.
 */
export function acceptJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  const parse = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const text = body.toString();
    const problem = encodingProblem(request.headers['content-encoding'], body as Buffer);
    if (problem !== null || text.trim() === '') {
      done(problem, undefined);
      return;
    }
    const inexact = jsonProblem(text);
    if (inexact !== null) {
      done(invalid(inexact), undefined);
      return;
    }
    parse(request, text, (error, value) => {
      // What is JSON and refused all the same has a key that could reach a prototype.
      done(
        error === null ? null : invalid('must not have a key __proto__ or constructor.prototype', error),
        value,
      );
    });
  });
}

function encodingProblem(contentEncoding: string | undefined, body: Buffer): ServiceError | null {
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity') {
    return new ServiceError('unsupported_media_type', 'Send the body without Content-Encoding.');
  }
  return isUtf8(body) ? null : invalid('not valid UTF-8');
}

function invalid(problem: string, cause?: unknown): ServiceError {
  return new ServiceError('validation_error', `body: ${problem}.`, { cause });
}
