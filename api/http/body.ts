import { isUtf8 } from 'node:buffer';
import { parse as parseForm } from 'node:querystring';
import type { Readable } from 'node:stream';
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify';
import { ServiceError } from '#shared/platform/errors.ts';
import { inPieces } from '#shared/platform/formats/pieces.ts';
import { readingStrictJson } from './strict-json.ts';

/**
 * Each chunk costs the event loop as much as hundreds of bytes. A network delivers at least that many at once, so more small
 * chunks than these are an attack.
 */
const mostChunks = (bytes: number) => 256 + bytes / 16;

/** Adds a parser for bodies of one media type, which are read into one buffer. It replaces those of Fastify. */
function parseBodies(
  app: FastifyInstance,
  mediaType: string,
  parseBytes: (body: Buffer, request: FastifyRequest) => unknown,
): void {
  app.addContentTypeParser(mediaType, async (request: FastifyRequest, payload: Readable) =>
    parseBytes(await readBody(request, payload), request),
  );
}

/** @throws ServiceError for a body that is too large, comes in too many chunks, or ends early. */
function readBody({ headers, routeOptions }: FastifyRequest, payload: Readable): Promise<Buffer> {
  const { bodyLimit = 0 } = routeOptions;
  return new Promise((resolve, reject) => {
    let bytes = Buffer.allocUnsafe(1024);
    let length = 0;
    let chunks = 0;
    const refuse = (error: ServiceError) => {
      payload.removeListener('data', append);
      reject(error);
    };
    const append = (chunk: Buffer) => {
      const end = length + chunk.length;
      chunks += 1;
      if (end > bodyLimit) return refuse(tooLarge(bodyLimit));
      if (chunks > mostChunks(end)) return refuse(tooManyChunks());
      if (end > bytes.length)
        bytes = Buffer.concat([bytes], Math.min(bodyLimit, Math.max(end, 2 * bytes.length)));
      length += chunk.copy(bytes, length);
    };
    if (Number(headers['content-length']) > bodyLimit) return refuse(tooLarge(bodyLimit));
    // The client closed the connection before the body was read, as while its key was looked up: no event follows.
    if (payload.destroyed) return reject(incomplete());
    payload.on('data', append);
    payload.on('end', () => resolve(bytes.subarray(0, length)));
    // The client closed the connection within the body.
    payload.on('error', (cause) => reject(incomplete(cause)));
  });
}

function incomplete(cause?: Error): ServiceError {
  return new ServiceError('validation_error', 'The request is incomplete. Send it again.', { cause });
}

function tooLarge(bodyLimit: number): ServiceError {
  return new ServiceError('payload_too_large', `body: must be at most ${bodyLimit / 1024} KiB.`);
}

function tooManyChunks(): ServiceError {
  return new ServiceError(
    'validation_error',
    'body: in too many small chunks. Send it in fewer, larger ones.',
  );
}

/**
 * Parses request bodies as strict JSON, because money depends on them. An empty body counts as none. Bodies of any other
 * media type are refused.
 */
export function jsonBody(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  parseBodies(app, 'application/json', parseJson);
}

/** Also accepts CSV, which `read` turns into what JSON would have been. */
export function csvBody(app: FastifyInstance, read: (text: string) => Promise<unknown>): void {
  parseBodies(app, 'text/csv', (body, request) => read(textOf(body, request)));
}

/** @throws ServiceError for bytes that are no plain UTF-8. */
function textOf(body: Buffer, { headers }: FastifyRequest): string {
  const { 'content-encoding': contentEncoding = 'identity' } = headers;
  if (contentEncoding.toLowerCase() !== 'identity') {
    throw new ServiceError('unsupported_media_type', 'Send the body without Content-Encoding.');
  }
  if (!isUtf8(body)) throw new ServiceError('validation_error', 'body: not valid UTF-8.');
  // Some programs put a byte order mark before the text.
  return body.toString().replace(/^\uFEFF/, '');
}

async function parseJson(body: Buffer, request: FastifyRequest): Promise<unknown> {
  const text = textOf(body, request);
  if (text.trim() === '') return undefined;
  const reading = await inPieces(readingStrictJson(text));
  if (reading.kind === 'invalid') throw new ServiceError('validation_error', `body: ${reading.problem}.`);
  return reading.value;
}

/** Ignores request bodies of any media type, because common HTTP clients send an empty form with every POST. */
export function ignoredBody(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  parseBodies(app, '*', () => undefined);
  // Fastify refuses a malformed media type before it looks for a parser.
  app.addHook('onRequest', ({ headers }, _reply, done) => {
    delete headers['content-type'];
    done();
  });
}

/** Parses JSON as `jsonBody` does, and also counts an empty body of any other media type as none. */
export function optionalJsonBody(app: FastifyInstance): void {
  parseBodies(app, '*', (body) => {
    if (body.toString().trim() === '') return;
    throw new ServiceError('unsupported_media_type', 'Send the body as application/json.');
  });
  // Fastify refuses a malformed media type before it looks for a parser.
  app.addHook('onRequest', ({ headers }, _reply, done) => {
    const isEmpty = headers['transfer-encoding'] === undefined && !Number(headers['content-length'] ?? 0);
    if (isEmpty) delete headers['content-type'];
    done();
  });
}

/** Parses the forms of pages. Bodies of any other media type are refused. */
export function formBody(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  parseBodies(app, 'application/x-www-form-urlencoded', (body) => ({ ...parseForm(body.toString()) }));
}

/** Also parses forms with files; a file is its text, in UTF-8 or else Windows-1252, as spreadsheets write it. */
export function uploadBody(app: FastifyInstance): void {
  parseBodies(app, 'multipart/form-data', async (body, { headers }) => {
    const contentType = headers['content-type'] ?? '';
    const form = await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } })
      .formData()
      .catch((cause) => {
        throw new ServiceError('validation_error', 'body: not valid multipart/form-data.', { cause });
      });
    const texts = [...form].map(async ([name, value]) => [
      name,
      typeof value === 'string' ? value : decoded(await value.arrayBuffer()),
    ]);
    return Object.fromEntries(await Promise.all(texts));
  });
}

function decoded(bytes: ArrayBuffer): string {
  return new TextDecoder(isUtf8(bytes) ? 'utf-8' : 'windows-1252').decode(bytes);
}

/** Accepts bodies of one media type as raw bytes, because a signature covers those. */
export function rawBody(app: FastifyInstance, mediaType: string): void {
  app.removeAllContentTypeParsers();
  parseBodies(app, mediaType, (body) => body);
  // Errors thrown here go to the error handler of the surrounding instance.
  app.setErrorHandler<FastifyError>((cause) => {
    if (cause.code !== 'FST_ERR_CTP_INVALID_MEDIA_TYPE') throw cause;
    throw new ServiceError('unsupported_media_type', `Send the body as ${mediaType}.`, { cause });
  });
}
