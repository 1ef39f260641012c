import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { getUnsafeNumberReason, parse as parseStrictly } from 'lossless-json';
import { ServiceError } from '../shared/errors.ts';

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
    try {
      parseStrictly(text, undefined, { parseNumber: exactNumber });
    } catch (error) {
      done(malformed(error), undefined);
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

/** Decimals may lose digits that nobody can mean; whole numbers, and those that would end up whole, may not. */
function exactNumber(literal: string): number {
  const value = Number(literal);
  const reason = getUnsafeNumberReason(literal);
  if (reason === undefined || (reason === 'truncate_float' && !Number.isInteger(value))) return value;
  throw invalid(
    `the number ${literal.slice(0, 40)} cannot be kept exactly; metadata may hold it as a string`,
  );
}

function malformed(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  // The parser descends with the nesting, so what is nested too deeply ends its stack.
  if (error instanceof RangeError) return invalid('nested too deeply', error);
  const duplicate = error instanceof SyntaxError && error.message.startsWith('Duplicate key');
  return invalid(duplicate ? 'a key stands twice with different values' : 'not valid JSON', error);
}

function invalid(problem: string, cause?: unknown): ServiceError {
  return new ServiceError('validation_error', `body: ${problem}.`, { cause });
}
