import { type Answer, Refusal } from '../exchange.ts';
import { randomId } from '../random-id.ts';

export interface StripeError {
  type?: 'invalid_request_error' | 'api_error' | 'idempotency_error';
  message: string;
  code?: string;
  param?: string;
  charge?: string;
}

export function jsonAnswer(status: number, content: unknown): Answer {
  const headers = { 'content-type': 'application/json', 'request-id': randomId('req_', 14) };
  return { status, headers, body: JSON.stringify(content, null, 2) };
}

export function errorAnswer(status: number, error: StripeError): Answer {
  return jsonAnswer(status, { error: { type: 'invalid_request_error', ...error } });
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
