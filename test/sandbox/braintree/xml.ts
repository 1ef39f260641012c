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

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ESCAPES[character] ?? character);
}

function element(name: string, value: string | null): string {
  return value === null ? `<${name} nil="true"/>` : `<${name}>${escaped(value)}</${name}>`;
}

function integer(name: string, value: number): string {
  return `<${name} type="integer">${value}</${name}>`;
}

function items(name: string, values: readonly string[]): string {
  return `<${name} type="array">${values.map((value) => element('item', value)).join('')}</${name}>`;
}

function moment(name: string, milliseconds: number): string {
  return `<${name} type="datetime">${new Date(milliseconds).toISOString().replace(/\.\d+Z$/, 'Z')}</${name}>`;
}

export function xmlAnswer(status: number, root: string): Answer {
  return {
    status,
    headers: { 'content-type': 'application/xml; charset=utf-8' },
    body: `<?xml version="1.0" encoding="UTF-8"?>\n${root}\n`,
  };
}

export function saleXml(ledger: Ledger, sale: Payment): string {
  const credits = ledger.refundsOf(sale).filter((refund) => refund.kind === 'refund');
  return transactionXml({
    id: sale.id,
    status: sale.status,
    type: 'sale',
    currency: sale.currency,
    amount: sale.amount,
    orderId: saleOrderId(sale),
    createdAt: sale.createdAt,
    refundedTransactionId: null,
    refundIds: credits.map((credit) => credit.id),
    response: ['1000', 'Approved', 'approved'],
  });
}

export function creditXml(credit: Refund): string {
  const declined = credit.status === 'processor_declined';
  return transactionXml({
    id: credit.id,
    status: credit.status,
    type: 'credit',
    currency: credit.currency,
    amount: credit.amount,
    orderId: credit.reference,
    createdAt: credit.createdAt,
    refundedTransactionId: credit.paymentId,
    bankReference: credit.bankReference,
    refundIds: [],
    response: declined ? ['2046', 'Declined', 'hard_declined'] : ['1002', 'Processed', 'approved'],
  });
}

/** Sales made here all carry an order id, so that its copying to refunds can be seen. */
export function saleOrderId(sale: Payment): string {
  return `order-${sale.id}`;
}

interface TransactionFields {
  id: string;
  status: string;
  type: 'sale' | 'credit';
  currency: string;
  amount: number;
  orderId: string;
  createdAt: number;
  refundedTransactionId: string | null;
  bankReference?: string | undefined;
  refundIds: string[];
  response: [code: string, text: string, type: string];
}

function transactionXml(fields: TransactionFields): string {
  const [code, text, type] = fields.response;
  return [
    '<transaction>',
    element('id', fields.id),
    element('status', fields.status),
    element('type', fields.type),
    element('currency-iso-code', fields.currency.toUpperCase()),
    element('amount', toDecimal(fields.amount, fields.currency)),
    element('order-id', fields.orderId),
    moment('created-at', fields.createdAt),
    element('refunded-transaction-id', fields.refundedTransactionId),
    items('refund-ids', fields.refundIds),
    ...(fields.bankReference === undefined
      ? []
      : [element('acquirer-reference-number', fields.bankReference)]),
    element('processor-response-code', code),
    element('processor-response-text', text),
    element('processor-response-type', type),
    element('payment-instrument-type', 'credit_card'),
    '</transaction>',
  ].join('');
}

export function searchResultsXml(ids: readonly string[], pageSize: number): string {
  return `<search-results>${integer('page-size', pageSize)}${items('ids', ids)}</search-results>`;
}

export function transactionPageXml(transactions: readonly string[], pageSize: number): string {
  const counts = `${integer('current-page-number', 1)}${integer('page-size', pageSize)}`;
  const total = integer('total-items', transactions.length);
  return `<credit-card-transactions type="collection">${counts}${total}${transactions.join('')}</credit-card-transactions>`;
}

/** A rejected request; a decline carries the declined transaction and no validation errors. */
export function apiErrorXml(
  id: string,
  message: string,
  errors: readonly ValidationError[],
  transaction: string,
): string {
  const details = errors.map(
    (error) =>
      `<error>${element('code', error.code)}<attribute type="symbol">${escaped(error.attribute)}</attribute>` +
      `${element('message', error.message)}</error>`,
  );
  return [
    '<api-error-response><errors><errors type="array"/>',
    `<transaction><errors type="array">${details.join('')}</errors></transaction></errors>`,
    `<params>${element('id', id)}</params>`,
    element('message', message),
    transaction,
    '</api-error-response>',
  ].join('');
}

/** Something that happened, as notifications tell it. */
export function notificationXml(kind: string, at: number, subject: string): string {
  return `<notification>${moment('timestamp', at)}${element('kind', kind)}<subject>${subject}</subject></notification>`;
}

/** A refund as the notification of its failure shows it: without type, order id, and the id of the sale. */
export function failedRefundXml(id: string, amount: string, status: string): string {
  const sale = element('refunded-transaction-fk', '1');
  return `<transaction>${element('id', id)}${element('amount', amount)}${element('status', status)}${sale}</transaction>`;
}
