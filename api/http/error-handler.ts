import type { Socket } from 'node:net';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { isDatabaseUnavailable } from '../../shared/platform/database.ts';
import { type ErrorCode, ServiceError } from '../../shared/platform/errors.ts';
import { newRequestId } from '../../shared/platform/ids.ts';
import { type Logger, redact, warnSparingly } from '../../shared/platform/log.ts';
import { isUnusableCredentials } from '../../shared/processors/accounts/connections.ts';
import { OverloadError } from './overload.ts';

/**
 * The one shape of every answer that is not data. A message may repeat what a client or a processor wrote, so what looks
 * like a secret or a card number is masked in it.
 */
export function errorBody(error: ServiceError): { error: { message: string; code: ErrorCode } } {
  return { error: { message: redact(error.message), code: error.code } };
}

/** Turns whatever was thrown into an answer; what is internal is logged and not told. */
export function answerErrors(app: FastifyInstance, log: Logger): void {
  // One line for each request that is refused would be more to do, at the worst moment.
  const warnOfOverload = warnSparingly(log, 'more to do than this process can; requests are refused');
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const answer = toServiceError(error);
    if (answer instanceof OverloadError) warnOfOverload(answer);
    else if (answer.code === 'processor_error') request.log.info({ reason: answer.message }, answer.code);
    else if (answer.status >= 500) request.log.error({ err: error }, answer.code);
    return sendError(reply, answer);
  });
}

function sendError(reply: FastifyReply, error: ServiceError): FastifyReply {
  if (error.retryAfterSeconds !== null) reply.header('retry-after', error.retryAfterSeconds);
  if (error.code === 'invalid_api_key') reply.header('www-authenticate', 'Bearer');
  return reply.code(error.status).send(errorBody(error));
}

/** Answers a URL that cannot be decoded; Fastify knows no route for it, and so runs no hook. */
export function answerFrameworkError(
  _error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  reply.header('x-request-id', request.id);
  sendError(reply, new ServiceError('validation_error', 'url: not a valid path.'));
}

/** Answers what is not HTTP; there is no request yet, only the socket. */
export function answerClientError(error: Error, socket: Socket): void {
  if (!socket.writable || socket.destroyed) {
    socket.destroy();
    return;
  }
  const message = socketMessages[codeOf(error) ?? ''] ?? 'The request is not valid HTTP.';
  const body = JSON.stringify(errorBody(new ServiceError('validation_error', message)));
  socket.end(
    'HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=utf-8\r\nConnection: close\r\n' +
      `X-Request-Id: ${newRequestId()}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

const socketMessages: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'The URL and the headers are larger than 16 KiB together.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request took too long to arrive.',
};

/** Every error as an answer of the catalogue. */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (hasZodFastifySchemaValidationErrors(error)) {
    const [first] = error.validation;
    const path = [error.validationContext, ...(first?.instancePath.split('/') ?? [])].filter(Boolean);
    return new ServiceError('validation_error', `${path.join('.')}: ${first?.message ?? 'not valid'}`, {
      cause: error,
    });
  }
  const refusal = frameworkRefusal(error);
  if (refusal !== null) return refusal;
  if (isDatabaseUnavailable(error)) return unavailable(error);
  if (isUnusableCredentials(error)) return accountUnusable(error);
  return new ServiceError(
    'internal_error',
    'Something went wrong here. Repeat the request with the same Idempotency-Key, or list refunds to see what came of it.',
    { cause: error },
  );
}

/** What Fastify and its plugins refuse by themselves, for a reason that lies with the client; else null. */
function frameworkRefusal(cause: unknown): ServiceError | null {
  const code = codeOf(cause);
  if (code === null || !code.startsWith('FST_')) return null;
  switch ((cause as FastifyError).statusCode) {
    case 413:
      return new ServiceError('payload_too_large', 'body: more than 64 KiB; send less metadata.', { cause });
    case 415:
      return new ServiceError('unsupported_media_type', 'Send the body as application/json.', { cause });
    case 403:
    case 404:
      return new ServiceError('not_found', 'No such page.', { cause });
    case 400:
      return code === 'FST_ERR_CTP_INVALID_CONTENT_LENGTH'
        ? new ServiceError('validation_error', 'body: not as long as Content-Length says.', { cause })
        : new ServiceError('validation_error', 'The request is not complete.', { cause });
    default:
      return null;
  }
}

function unavailable(cause: unknown): ServiceError {
  return new ServiceError(
    'service_unavailable',
    'Nothing was changed. Repeat the request in a few seconds.',
    {
      retryAfterSeconds: 2,
      cause,
    },
  );
}

/** The credentials of an account cannot be read or do not fit its environment; an operator finds why in the log. */
function accountUnusable(cause: unknown): ServiceError {
  const message =
    'The processor account cannot be used until its operator has mended it. Nothing was changed.';
  return new ServiceError('service_unavailable', message, { retryAfterSeconds: 60, cause });
}

function codeOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}
