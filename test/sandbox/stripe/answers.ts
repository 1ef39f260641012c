import { type Answer, Refusal } from '../exchange.ts';
import { randomId } from '../random-id.ts';

/** As Stripe's API documents it; the SDK's types leave out `message_code`. */
export interface StripeError {
  type?: string | undefined;
  message: string;
  code?: string | undefined;
  message_code?: string | undefined;
  param?: string | undefined;
  charge?: string;
}

export function jsonAnswer(status: number, content: unknown): Answer {
  const headers = { 'content-type': 'application/json', 'request-id': randomId('req_', 14) };
  return { status, headers, body: JSON.stringify(content) };
}

export function errorAnswer(status: number, error: StripeError): Answer {
  const { code } = error;
  const page = code && { doc_url: `https://stripe.com/docs/error-codes/${code.replaceAll('_', '-')}` };
  return jsonAnswer(status, { error: { type: 'invalid_request_error', ...error, ...page } });
}

/** A refusal that the idempotency key keeps. */
export function refused(error: StripeError): Refusal {
  return new Refusal(errorAnswer(400, error), true);
}

export function invalidParameter(param: string, message: string): Refusal {
  return new Refusal(errorAnswer(400, { message, param }), false);
}

export function noSuch(param: string, id: string): Refusal {
  const error = { code: 'resource_missing', message: `No such ${param}: '${id}'`, param };
  return new Refusal(errorAnswer(404, error), true);
}
