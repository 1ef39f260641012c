import type { Answer } from '../exchange.ts';
import { apiErrorXml, type ValidationError, xmlAnswer } from './xml.ts';

/** Thrown by a handler to refuse a request. */
export class BraintreeRefusal extends Error {
  readonly answer: Answer;
  /** A request that came as far as being judged spends its key; one about an unknown transaction does not. */
  readonly spendsKey: boolean;

  constructor(answer: Answer, spendsKey: boolean) {
    super(`Braintree answers ${answer.status}`);
    this.answer = answer;
    this.spendsKey = spendsKey;
  }
}

const MESSAGES = {
  '81501': ['amount', 'Amount cannot be negative.'],
  '81503': ['amount', 'Amount is an invalid format.'],
  '81531': ['amount', 'Amount must be greater than zero.'],
  '91501': ['order_id', 'Order ID is too long.'],
  '91504': ['base', 'Transaction can only be voided while it is authorized or submitted for settlement.'],
  '91505': ['base', 'Cannot refund a credit transaction.'],
  '91506': ['base', 'Cannot refund transaction unless it is settled.'],
  '91512': ['base', 'Transaction has already been completely refunded.'],
  '91521': ['amount', 'Refund amount is too large.'],
  '915232': ['api_request_key', 'API request key can only be reused with the same request.'],
  '915233': ['api_request_key', 'A request with this API request key is in flight.'],
  '915234': ['api_request_key', 'API request key was used by a request that failed.'],
} as const;

export type ValidationCode = keyof typeof MESSAGES;

export function invalid(transactionId: string, code: ValidationCode): BraintreeRefusal {
  const [attribute, message] = MESSAGES[code];
  const error: ValidationError = { code, attribute, message };
  return new BraintreeRefusal(xmlAnswer(422, apiErrorXml(transactionId, message, [error], '')), true);
}

export function declined(transactionId: string, transaction: string): BraintreeRefusal {
  return new BraintreeRefusal(xmlAnswer(422, apiErrorXml(transactionId, 'Declined', [], transaction)), true);
}

export function notFound(): BraintreeRefusal {
  return new BraintreeRefusal(xmlAnswer(404, '<error>not found</error>'), false);
}

export function badRequest(): BraintreeRefusal {
  return new BraintreeRefusal(
    xmlAnswer(400, '<error>the body is not the JSON this sandbox understands</error>'),
    false,
  );
}
