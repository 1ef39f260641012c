import { isUtf8 } from 'node:buffer';
import type { FastifyError } from 'fastify';
import fp from 'fastify-plugin';
import { getUnsafeNumberReason, parse } from 'lossless-json';
import { ServiceError } from '../../shared/platform/errors.ts';

/**
 * Parses request bodies as strict JSON, because money depends on them. An empty body counts as none. Bodies of any other
 * media type are refused.
 */
export const jsonBody = fp(
  async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
      try {
        done(null, parseBody(body as Buffer, request.headers['content-encoding']));
      } catch (error) {
        done(error as Error);
      }
    });
  },
  { name: 'json-body' },
);

function parseBody(body: Buffer, contentEncoding = 'identity'): unknown {
  if (contentEncoding.toLowerCase() !== 'identity') {
    throw new ServiceError('unsupported_media_type', 'Send the body without Content-Encoding.');
  }
  if (!isUtf8(body)) throw new ServiceError('validation_error', 'body: not valid UTF-8.');
  const text = body.toString();
  if (text.trim() === '') return undefined;
  const reading = readStrictJson(text);
  if (reading.kind === 'invalid') throw new ServiceError('validation_error', `body: ${reading.problem}.`);
  return reading.value;
}

/** A parsed text, or what is wrong with it, as the end of a sentence without a period. */
export type JsonReading = { kind: 'valid'; value: unknown } | { kind: 'invalid'; problem: string };

/**
 * Parses JSON and refuses what programs read differently: a key that occurs twice with different values, a number that
 * JavaScript would change, and keys that could change a prototype.
 * @param describeNumber the problem for such a number. It may not quote it where the text may be secret.
 */
export function readStrictJson(text: string, describeNumber = describeInexactNumber): JsonReading {
  try {
    const value = parse(text, undefined, { parseNumber: exactNumber });
    return mayHoldPrototypeKey.test(text) && holdsPrototypeKey(value)
      ? { kind: 'invalid', problem: 'must not have a key __proto__ or constructor.prototype' }
      : { kind: 'valid', value };
  } catch (error) {
    return { kind: 'invalid', problem: problemOf(error, describeNumber) };
  }
}

function problemOf(error: unknown, describeNumber: (literal: string) => string): string {
  if (error instanceof InexactNumberError) return describeNumber(error.literal);
  // The parser recurses, so deep nesting exhausts the stack.
  if (error instanceof RangeError) return 'nested too deeply';
  const isDuplicate = error instanceof SyntaxError && error.message.startsWith('Duplicate key');
  return isDuplicate ? 'a key occurs twice with different values' : 'not valid JSON';
}

class InexactNumberError extends Error {
  readonly literal: string;

  constructor(literal: string) {
    super('Inexact number');
    this.literal = literal;
  }
}

/** Decimals may lose digits beyond double precision. Whole numbers, and those that would become whole, may not. */
function exactNumber(literal: string): number {
  const value = Number(literal);
  const reason = getUnsafeNumberReason(literal);
  if (reason === undefined || (reason === 'truncate_float' && !Number.isInteger(value))) return value;
  throw new InexactNumberError(literal);
}

function describeInexactNumber(literal: string): string {
  return `the number ${literal.slice(0, 40)} cannot be stored exactly; send it as a string in metadata`;
}

/** The keys may be written with escapes. */
const mayHoldPrototypeKey = /__proto__|constructor|\\u/;

/** Iterative, so that nesting cannot exhaust the stack. */
function holdsPrototypeKey(value: unknown): boolean {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const part = open.pop();
    if (typeof part !== 'object' || part === null) continue;
    if (Object.hasOwn(part, '__proto__')) return true;
    const inner: unknown = Object.hasOwn(part, 'constructor') ? part.constructor : null;
    if (typeof inner === 'object' && inner !== null && Object.hasOwn(inner, 'prototype')) return true;
    open.push(...Object.values(part));
  }
  return false;
}

/** Ignores request bodies of any media type, because common HTTP clients send an empty form with every POST. */
export const ignoredBody = fp(
  async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null, undefined));
    // Fastify refuses a malformed media type before it looks for a parser.
    app.addHook('onRequest', ({ headers }, _reply, done) => {
      delete headers['content-type'];
      done();
    });
  },
  { name: 'ignored-body' },
);

/** Parses JSON as `jsonBody` does, and also counts an empty body of any other media type as none. */
export const optionalJsonBody = fp(
  async (app) => {
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
      const isEmpty = body.toString().trim() === '';
      done(
        isEmpty ? null : new ServiceError('unsupported_media_type', 'Send the body as application/json.'),
        undefined,
      );
    });
    // Fastify refuses a malformed media type before it looks for a parser.
    app.addHook('onRequest', ({ headers }, _reply, done) => {
      const isEmpty = headers['transfer-encoding'] === undefined && !Number(headers['content-length'] ?? 0);
      if (isEmpty) delete headers['content-type'];
      done();
    });
  },
  { name: 'optional-json-body' },
);

/** Accepts bodies of one media type as raw bytes, because a signature covers those. */
export const rawBody = fp<{ mediaType: string; limitKiB: number }>(
  async (app, { mediaType, limitKiB }) => {
    app.removeAllContentTypeParsers();
    const options = { parseAs: 'buffer', bodyLimit: limitKiB * 1024 } as const;
    app.addContentTypeParser(mediaType, options, (_request, body, done) => done(null, body));
    // Errors thrown here go to the error handler of the surrounding instance.
    app.setErrorHandler<FastifyError>((cause) => {
      if (cause.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
        throw new ServiceError('payload_too_large', `body: must be at most ${limitKiB} KiB.`, { cause });
      }
      if (cause.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
        throw new ServiceError('unsupported_media_type', `Send the body as ${mediaType}.`, { cause });
      }
      throw cause;
    });
  },
  { name: 'raw-body' },
);
