import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { isDatabaseUnavailable } from '#shared/platform/database.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { redact } from '#shared/platform/log.ts';
import { toServiceError } from '../../http/error-handler.ts';
import type { Api } from '../../http/route.ts';
import { ButtonLink } from '../components/button.tsx';
import { Notice } from '../components/notice.tsx';
import { isCsrfRefusal } from '../http/csrf.ts';
import { dashboardPath } from '../http/paths.ts';
import { isForPart, protectPage, renderPage } from '../http/render.ts';
import { Gate } from '../layout/document.tsx';

const titles: Partial<Record<ServiceError['code'], string>> = {
  not_found: 'Page not found',
  method_not_allowed: 'Page not found',
  insufficient_scope: 'Access denied',
  payload_too_large: 'Form too large',
  rate_limited: 'Too many requests',
  service_unavailable: 'Temporarily unavailable',
};

/** Responds to errors with pages that say what happened and what to do next, without internals. */
export function answerErrorsWithPages(scope: Api): void {
  scope.setErrorHandler<FastifyError>((error, request, reply) => {
    const answer = pageErrorOf(error, request);
    if (answer.status >= 500) request.log.error({ err: error }, answer.code);
    if (answer.retryAfterSeconds !== null) reply.header('retry-after', answer.retryAfterSeconds);
    return sendErrorPage(request, reply, answer);
  });
}

/** The error of the catalogue, with a message for a page. */
function pageErrorOf(error: unknown, { method }: Pick<FastifyRequest, 'method'>): ServiceError {
  if (isCsrfRefusal(error)) {
    const message = 'This form has expired. Reload the page and try again.';
    return new ServiceError('insufficient_scope', message, { cause: error });
  }
  const mayHaveChanged = method !== 'GET' && method !== 'HEAD';
  const answer = toServiceError(error);
  if (mayHaveChanged && answer.code === 'service_unavailable' && isDatabaseUnavailable(error)) {
    // The connection may have broken during the commit.
    const message =
      'The database is unavailable, and your change may or may not have been saved. Reload the page and check before you try again.';
    return new ServiceError('service_unavailable', message, { retryAfterSeconds: 2, cause: error });
  }
  if (answer.code === 'payload_too_large') {
    const message = 'The form exceeds 64 KiB, and nothing was changed. Shorten it and try again.';
    return new ServiceError('payload_too_large', message, { cause: error });
  }
  if (answer.code !== 'internal_error') return answer;
  const message = mayHaveChanged
    ? 'Something went wrong, and your change may or may not have been saved. Reload the page and check before you try again.'
    : 'Something went wrong. Reload the page to try again.';
  return new ServiceError('internal_error', message, { cause: error });
}

/** Sends an error as a page, or as a notice where only a part of a page was requested. */
export function sendErrorPage(
  request: FastifyRequest,
  reply: FastifyReply,
  error: ServiceError,
): FastifyReply {
  const message = redact(error.message);
  // A check may have refused the request before the headers of its page were set.
  protectPage(reply);
  reply.code(error.status);
  const page = isForPart(request) ? (
    <Notice tone="bad">{message}</Notice>
  ) : (
    <Gate title={titles[error.code] ?? 'Something went wrong'}>
      <p>{message}</p>
      <p class="small muted">
        Request ID: <code>{request.id}</code>
      </p>
      <p>
        <ButtonLink to={dashboardPath}>Go to dashboard</ButtonLink>
      </p>
    </Gate>
  );
  return reply.send(renderPage(reply, page));
}
