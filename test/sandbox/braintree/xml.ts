import type { Answer } from '../exchange.ts';

/** A validation error as Braintree numbers it. */
export interface ValidationError {
  code: string;
  attribute: string;
  message: string;
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

const escaped = (text: string) => text.replace(/[&<>"]/g, (character) => ESCAPES[character] ?? character);

type Content = string | number | boolean | Date | null | undefined | readonly (string | Fields)[] | Fields;
export interface Fields {
  [name: string]: Content;
}

/** An element with its type as Braintree writes it; nothing for undefined. */
export function element(name: string, content: Content): string {
  if (content === undefined) return '';
  if (content === null) return `<${name} nil="true"/>`;
  if (typeof content === 'string') return `<${name}>${escaped(content)}</${name}>`;
  if (typeof content === 'number') return `<${name} type="integer">${content}</${name}>`;
  if (typeof content === 'boolean') return `<${name} type="boolean">${content}</${name}>`;
  if (content instanceof Date)
    return `<${name} type="datetime">${content.toISOString().replace(/\.\d+Z$/, 'Z')}</${name}>`;
  if (Array.isArray(content)) {
    const items = content.map((item) => (typeof item === 'string' ? element('item', item) : elements(item)));
    return `<${name} type="array">${items.join('')}</${name}>`;
  }
  return `<${name}>${elements(content as Fields)}</${name}>`;
}

export const elements = (fields: Fields) =>
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
