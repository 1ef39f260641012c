import { type Answer, Refusal } from '../exchange.ts';
import { apiErrorXml, xmlAnswer } from './xml.ts';

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
  '915200': ['base', 'Processor declined the refund authorization.'],
  '915230': ['api_request_key', 'API request key is too long.'],
  '915232': ['api_request_key', 'API request key can only be reused with the same request.'],
  '915233': ['api_request_key', 'A request with this API request key is in flight.'],
  '915234': ['api_request_key', 'API request key was used by a request that failed.'],
} as const;

export function invalid(transactionId: string, code: keyof typeof MESSAGES): Refusal {
  const [attribute, message] = MESSAGES[code];
  const xml = apiErrorXml(transactionId, message, [{ code, attribute, message }], '');
  return new Refusal(xmlAnswer(422, xml), true);
}

/** The answer to a refund whose credit was declined, with that credit. */
export function declined(saleId: string, credit: string): Answer {
  const [attribute, message] = MESSAGES['915200'];
  return xmlAnswer(422, apiErrorXml(saleId, message, [{ code: '915200', attribute, message }], credit));
}

/** Braintree also answers 403 to a parameter that is not in its list. */
export function notAllowed(): Refusal {
  return new Refusal(xmlAnswer(403, '<error>a parameter is not allowed</error>'), false);
}

export function notFound(): Refusal {
  return new Refusal(xmlAnswer(404, '<error>not found</error>'), false);
}
