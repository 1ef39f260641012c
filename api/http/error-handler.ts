import type { Socket } from 'node:net';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { isDatabaseUnavailable } from '#shared/platform/database.ts';
import { type ErrorCode, ServiceError } from '#shared/platform/errors.ts';
import { newRequestId } from '#shared/platform/ids.ts';
import { type Logger, redact, warnSparingly } from '#shared/platform/log.ts';
import { isUnusableCredentials } from '#shared/processors/accounts/connections.ts';
import { describeInvalidRequest } from './invalid-fields.ts';
import { OverloadError } from './overload.ts';
import { jsonHeaders } from './security-headers.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The error that it was answered with; null for none. */
    refusal: ServiceError | null;
  }
}

/** The body of every error response. Messages may quote a client or a processor, so secrets and card numbers are masked. */
export function errorBody(error: ServiceError): { error: { message: string; code: ErrorCode } } {
  return { error: { message: redact(error.message), code: error.code } };
}

/** Sends every error of this instance as one of the catalogue, and logs those that are not the client's fault. */
export function answerErrors(app: FastifyInstance, log: Logger): void {
  // A line for each refused request would add work under load.
  const warnOfOverload = warnSparingly(log, 'overloaded; requests are refused');
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const answer = toServiceError(invalidRequest(error, request) ?? error);
    request.refusal = answer;
    if (answer instanceof OverloadError) warnOfOverload(answer);
    else logFailure(request.log, answer, error);
    return sendError(reply, answer);
  });
}

/** Logs an error that is not the client's fault. */
export function logFailure(
  log: Pick<Logger, 'info' | 'error'>,
  { code, status, message }: ServiceError,
  cause: unknown,
): void {
  if (code === 'processor_error') log.info({ reason: message }, code);
  else if (status >= 500) log.error({ err: cause }, code);
}

function sendError(reply: FastifyReply, error: ServiceError): FastifyReply {
  // Also for addresses whose pages may be stored.
  reply.header('cache-control', 'no-store');
  if (error.retryAfterSeconds !== null) reply.header('retry-after', error.retryAfterSeconds);
  if (error.code === 'invalid_api_key') reply.header('www-authenticate', 'Bearer');
  return reply.code(error.status).send(errorBody(error));
}

/** Answers a URL that cannot be decoded. Fastify has no route for it and runs no hooks. */
export function answerFrameworkError(
  _error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  reply.headers({ ...jsonHeaders, 'x-request-id': request.id, connection: 'close' });
  sendError(reply, new ServiceError('validation_error', 'url: must be a valid path.'));
}

/** Answers bytes that are not HTTP. There is no request yet, only the socket. */
export function answerClientError(error: Error, socket: Socket): void {
  if (!socket.writable || socket.destroyed) {
    socket.destroy();
    return;
  }
  const message = socketMessages[codeOf(error) ?? ''] ?? 'The request is not valid HTTP.';
  const body = JSON.stringify(errorBody(new ServiceError('validation_error', message)));
  const headers = {
    ...jsonHeaders,
    'content-type': 'application/json; charset=utf-8',
    connection: 'close',
    'x-request-id': newRequestId(),
    'content-length': Buffer.byteLength(body),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 400 Bad Request\r\n${lines.join('')}\r\n${body}`);
}

const socketMessages: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'The URL and headers together exceed 16 KiB.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request took too long to arrive. Send it again.',
};

/** The error for a request that does not match the schemas of its route; null for any other error. */
function invalidRequest(cause: FastifyError, request: FastifyRequest): ServiceError | null {
  if (!hasZodFastifySchemaValidationErrors(cause)) return null;
  const message = describeInvalidRequest(request, cause.validationContext);
  return new ServiceError('validation_error', message, { cause });
}

/** Maps any error to one of the catalogue. */
export function toServiceError(cause: unknown): ServiceError {
  if (cause instanceof ServiceError) return cause;
  const refusal = frameworkRefusal(cause);
  if (refusal !== null) return refusal;
  if (isDatabaseUnavailable(cause)) {
    const message = 'The service is temporarily unavailable. Nothing was changed. Retry in a few seconds.';
    return new ServiceError('service_unavailable', message, { retryAfterSeconds: 2, cause });
  }
  if (isUnusableCredentials(cause)) {
    const message =
      'The stored credentials of the processor account cannot be read. Nothing was changed. Ask an admin to set them again.';
    return new ServiceError('service_unavailable', message, { retryAfterSeconds: 60, cause });
  }
  const message =
    'An unexpected error occurred. Retry with the same Idempotency-Key, or list refunds to check whether the request was recorded.';
  return new ServiceError('internal_error', message, { cause });
}

/** Errors of Fastify and its plugins that are the client's fault; null for any other. */
function frameworkRefusal(cause: unknown): ServiceError | null {
  const code = codeOf(cause);
  if (code === null && isUnsendableFile(cause)) {
    const message =
      'The file does not have this range or version. Send the request without Range and If headers.';
    return new ServiceError('validation_error', message, { cause });
  }
  if (code === null || !code.startsWith('FST_')) return null;
  switch ((cause as FastifyError).statusCode) {
    case 415:
      return new ServiceError('unsupported_media_type', 'Send the body as application/json.', { cause });
    case 403:
    case 404:
      return new ServiceError('not_found', 'Page not found.', { cause });
    default:
      return null;
  }
}

/** The plugin that sends files has no code for a range or a precondition that cannot be met. */
function isUnsendableFile(cause: unknown): boolean {
  return cause instanceof Error && 'statusCode' in cause && [412, 416].includes(Number(cause.statusCode));
}

function codeOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}
