import { Refusal } from '../exchange.ts';
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
  '915232': ['api_request_key', 'API request key can only be reused with the same request.'],
  '915233': ['api_request_key', 'A request with this API request key is in flight.'],
  '915234': ['api_request_key', 'API request key was used by a request that failed.'],
} as const;

export function invalid(transactionId: string, code: keyof typeof MESSAGES): Refusal {
  const [attribute, message] = MESSAGES[code];
  const xml = apiErrorXml(transactionId, message, [{ code, attribute, message }], '');
  return new Refusal(xmlAnswer(422, xml), true);
}

export function declined(transactionId: string, transaction: string): Refusal {
  return new Refusal(xmlAnswer(422, apiErrorXml(transactionId, 'Declined', [], transaction)), true);
}

export function notFound(): Refusal {
  return new Refusal(xmlAnswer(404, '<error>not found</error>'), false);
}
