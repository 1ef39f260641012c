import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { isDatabaseUnavailable } from '../../../shared/platform/database.ts';
import { ServiceError } from '../../../shared/platform/errors.ts';
import { redact } from '../../../shared/platform/log.ts';
import { toServiceError } from '../../http/error-handler.ts';
import type { Api } from '../../http/route.ts';
import { isCsrfRefusal } from '../http/form-tokens.ts';
import { sendPage, sendPart } from '../http/render.ts';
import { Gate } from '../layout/gate.tsx';
import { Notice } from '../layout/notice.tsx';

const titles: Partial<Record<ServiceError['code'], string>> = {
  not_found: 'There is no such page',
  method_not_allowed: 'This address has no page',
  insufficient_scope: 'You may not do this',
  payload_too_large: 'Too much for one form',
  rate_limited: 'Too many requests',
  service_unavailable: 'Not available just now',
};

/** Answers what goes wrong with a page: what it was, what to do next, and nothing internal. */
export function answerErrorsWithPages(scope: Api): void {
  scope.setErrorHandler<FastifyError>((error, request, reply) => {
    const answer = refusalOf(error, request);
    if (answer.status >= 500) request.log.error({ err: error }, answer.code);
    if (answer.retryAfterSeconds !== null) reply.header('retry-after', answer.retryAfterSeconds);
    return sendErrorPage(request, reply, answer);
  });
}

/** The answer of the catalogue, in words that fit a page. */
function refusalOf(error: unknown, { method }: Pick<FastifyRequest, 'method'>): ServiceError {
  if (isCsrfRefusal(error)) {
    const message = 'The form is too old, or from another session. Open the page again and repeat.';
    return new ServiceError('insufficient_scope', message, { cause: error });
  }
  const mayHaveChanged = method !== 'GET' && method !== 'HEAD';
  if (mayHaveChanged && isDatabaseUnavailable(error)) {
    // The connection may have broken while the change was being committed.
    const message =
      'The database could not be reached, and it is not known whether this was recorded. Open the page again, and look before you repeat.';
    return new ServiceError('service_unavailable', message, { retryAfterSeconds: 2, cause: error });
  }
  const answer = toServiceError(error);
  if (answer.code === 'payload_too_large') {
    const message =
      'This is more than the 64 KiB that a form can take. Nothing was changed. Shorten what was entered; policies that need more are set on the command line.';
    return new ServiceError('payload_too_large', message, { cause: error });
  }
  if (answer.code !== 'internal_error') return answer;
  const message =
    'Something went wrong here. Open the page again, and look what came of it before you repeat.';
  return new ServiceError('internal_error', message, { cause: error });
}

/** Answers with a page that tells of the error, or with a part where only a part of a page was asked for. */
export function sendErrorPage(
  request: FastifyRequest,
  reply: FastifyReply,
  error: ServiceError,
): FastifyReply {
  const message = redact(error.message);
  reply.code(error.status);
  if (request.headers['hx-request'] === 'true') return sendPart(reply, <Notice tone="bad">{message}</Notice>);
  return sendPage(reply, <ErrorPage error={error} message={message} requestId={request.id} />);
}

function ErrorPage({
  error,
  message,
  requestId,
}: {
  error: ServiceError;
  message: string;
  requestId: string;
}) {
  return (
    <Gate title={titles[error.code] ?? 'This did not work'}>
      <p>{message}</p>
      <p class="small muted">
        When you ask somebody about it, name <code>{requestId}</code>.
      </p>
      <p>
        <a class="button" href="/dashboard">
          To the dashboard
        </a>
      </p>
    </Gate>
  );
}
