import { toDecimal } from '../currency.ts';
import type { Answer } from '../exchange.ts';
import type { Ledger, Payment, Refund } from '../ledger.ts';

/** A validation error as Braintree numbers it. */
export interface ValidationError {
  code: string;
  attribute: string;
  message: string;
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

const escaped = (text: string) => text.replace(/[&<>"]/g, (character) => ESCAPES[character] ?? character);

type Content = string | number | Date | null | undefined | readonly (string | Fields)[] | Fields;
interface Fields {
  [name: string]: Content;
}

/** An element with its type as Braintree writes it; nothing for undefined. */
function element(name: string, content: Content): string {
  if (content === undefined) return '';
  if (content === null) return `<${name} nil="true"/>`;
  if (typeof content === 'string') return `<${name}>${escaped(content)}</${name}>`;
  if (typeof content === 'number') return `<${name} type="integer">${content}</${name}>`;
  if (content instanceof Date)
    return `<${name} type="datetime">${content.toISOString().replace(/\.\d+Z$/, 'Z')}</${name}>`;
  if (Array.isArray(content)) {
    const items = content.map((item) => (typeof item === 'string' ? element('item', item) : elements(item)));
    return `<${name} type="array">${items.join('')}</${name}>`;
  }
  return `<${name}>${elements(content as Fields)}</${name}>`;
}

const elements = (fields: Fields) =>
  Object.entries(fields)
    .map(([name, content]) => element(name, content))
    .join('');

export function xmlAnswer(status: number, root: string): Answer {
  return {
    status,
    headers: { 'content-type': 'application/xml; charset=utf-8' },
    body: `<?xml version="1.0" encoding="UTF-8"?>\n${root}\n`,
  };
}

export function saleXml(ledger: Ledger, sale: Payment): string {
  const credits = ledger.refundsOf(sale).filter((refund) => refund.kind === 'refund');
  const isDisputed = sale.status === 'disputed';
  const isInParts = sale.status === 'settled_in_parts';
  const status = { disputed: 'settled', settled_in_parts: 'settlement_pending' }[sale.status] ?? sale.status;
  return transactionXml(
    { ...sale, status },
    {
      type: 'sale',
      'order-id': saleOrderId(sale),
      'refunded-transaction-id': null,
      'refund-ids': credits.map((credit) => credit.id),
      'partial-settlement-transaction-ids': isInParts ? [`${sale.id}-part`] : [],
      disputes: isDisputed ? [{ dispute: { kind: 'chargeback', status: 'open' } }] : [],
      'processor-response-code': '1000',
      'processor-response-text': 'Approved',
      'processor-response-type': 'approved',
    },
  );
}

export function creditXml(credit: Refund): string {
  const isDeclined = credit.status === 'processor_declined';
  return transactionXml(credit, {
    type: 'credit',
    'order-id': credit.reference,
    'refunded-transaction-id': credit.paymentId,
    'refund-ids': [],
    'acquirer-reference-number': credit.bankReference,
    'processor-response-code': isDeclined ? '2046' : '1002',
    'processor-response-text': isDeclined ? 'Declined' : 'Processed',
    'processor-response-type': isDeclined ? 'hard_declined' : 'approved',
  });
}

/** Sales made here all carry an order id, so that its copying to refunds can be seen. */
export function saleOrderId(sale: Payment): string {
  return `order-${sale.id}`;
}

function transactionXml({ id, status, currency, amount, createdAt }: Payment | Refund, more: Fields): string {
  return element('transaction', {
    ...{ id, status, 'currency-iso-code': currency.toUpperCase(), amount: toDecimal(amount, currency) },
    'created-at': new Date(createdAt),
    ...more,
    'payment-instrument-type': 'credit_card',
  });
}

export function searchResultsXml(ids: readonly string[], pageSize: number): string {
  return element('search-results', { 'page-size': pageSize, ids });
}

export function transactionPageXml(transactions: readonly string[], pageSize: number): string {
  const counts = { 'current-page-number': 1, 'page-size': pageSize, 'total-items': transactions.length };
  return `<credit-card-transactions type="collection">${elements(counts)}${transactions.join('')}</credit-card-transactions>`;
}

/** A rejected request; a decline carries the declined transaction and no validation errors. */
export function apiErrorXml(
  id: string,
  message: string,
  errors: readonly ValidationError[],
  transaction: string,
): string {
  const details = errors.map((error) => element('error', { ...error })).join('');
  const found = `<errors type="array"/><transaction><errors type="array">${details}</errors></transaction>`;
  return `<api-error-response><errors>${found}</errors>${elements({ params: { id }, message })}${transaction}</api-error-response>`;
}

/** Something that happened, as notifications tell it. */
export function notificationXml(kind: string, at: number, subject: string): string {
  return `<notification>${elements({ timestamp: new Date(at), kind })}<subject>${subject}</subject></notification>`;
}

/** A refund as the notification of its failure shows it: without type, order id, and the id of the sale. */
export function failedRefundXml(id: string, amount: string, status: string): string {
  return element('transaction', { id, amount, status, 'refunded-transaction-fk': '1' });
}
