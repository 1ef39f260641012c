import type { Answer } from '../exchange.ts';

export interface StripeErrorBody {
  type: 'invalid_request_error' | 'api_error' | 'idempotency_error';
  message: string;
  code?: string;
  param?: string;
  charge?: string;
}

/** Thrown by a handler to refuse a request. */
export class StripeRefusal extends Error {
  readonly status: number;
  readonly body: StripeErrorBody;
  /** Parameters are checked before work begins; what fails there is not kept under the idempotency key. */
  readonly beforeExecution: boolean;

  constructor(status: number, body: StripeErrorBody, beforeExecution = false) {
    super(body.message);
    this.status = status;
    this.body = body;
    this.beforeExecution = beforeExecution;
  }
}

export function invalidParameter(param: string, message: string, code?: string): StripeRefusal {
  const body: StripeErrorBody = { type: 'invalid_request_error', message, param };
  return new StripeRefusal(400, code === undefined ? body : { ...body, code }, true);
}

export function noSuch(kind: string, id: string, param: string): StripeRefusal {
  const message = `No such ${kind}: '${id}'`;
  return new StripeRefusal(404, { type: 'invalid_request_error', code: 'resource_missing', message, param });
}

/** A refund that Stripe refuses for a reason that lies in the charge. */
export function refundRefused(code: string, message: string, charge: string): StripeRefusal {
  return new StripeRefusal(400, { type: 'invalid_request_error', code, message, charge });
}

export function jsonAnswer(status: number, content: unknown, headers: Record<string, string> = {}): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(content, null, 2),
  };
}

export function errorAnswer(status: number, error: StripeErrorBody): Answer {
  return jsonAnswer(status, { error });
}

export function serverErrorAnswer(): Answer {
  return errorAnswer(500, {
    type: 'api_error',
    message: 'An unknown error occurred (injected by the sandbox).',
  });
}

export function forbiddenAnswer(): Answer {
  const message = 'The provided key does not have the required permissions for this endpoint.';
  return errorAnswer(403, { type: 'invalid_request_error', message });
}
