import * as oidc from 'openid-client';
import { type RefusalCause, SignInRefusal } from './refusal.ts';

/** Answers of an endpoint for tokens, and of a callback (RFC 6749, sections 5.2 and 4.1.2.1). */
const causesByAnswer: Readonly<Record<string, RefusalCause>> = {
  invalid_client: 'client_refused',
  unauthorized_client: 'client_refused',
  invalid_grant: 'code_refused',
  invalid_scope: 'scope_refused',
};

/** What an error of openid-client means. Neither its message nor its response goes on: they may hold codes, tokens and addresses. */
export function refusalOf(error: unknown): SignInRefusal {
  if (error instanceof SignInRefusal) return error;
  if (error instanceof oidc.ResponseBodyError || error instanceof oidc.AuthorizationResponseError) {
    return new SignInRefusal(causesByAnswer[error.error] ?? 'provider_refused', error.error);
  }
  if (error instanceof oidc.WWWAuthenticateChallengeError) return new SignInRefusal('client_refused');
  const { code = '', cause } = error as { code?: string; cause?: unknown };
  if (/JWT|JSON_ATTRIBUTE/.test(code)) return new SignInRefusal('token_invalid');
  const isServerError = cause instanceof Response && cause.status >= 500;
  const isUnanswered = /TIMEOUT|ABORT/.test(code) || error instanceof DOMException || isServerError;
  if (isUnanswered) return new SignInRefusal('unanswered');
  // Of fetch, which gives its reason as the cause; the library's own have a code.
  if (error instanceof TypeError && code === '') {
    return new SignInRefusal('unanswered', (cause as { code?: string } | undefined)?.code);
  }
  return new SignInRefusal('unreadable_answer');
}
