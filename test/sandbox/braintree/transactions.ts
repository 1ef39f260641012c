import { z } from 'zod';
import { fromDecimal } from '../currency.ts';
import { declinesRefunds, type Payment, type Refund, refundOf } from '../ledger.ts';
import { randomId } from '../random-id.ts';
import type { BraintreeRequest } from './processor.ts';
import { declined, invalid, notFound } from './refusals.ts';
import { creditXml, saleOrderId } from './xml.ts';

/** Braintree leaves it to the merchant not to refund what was charged back. */
const REFUNDABLE = ['settled', 'settling', 'disputed'];
/** With the rest of a sale that was settled in parts, which its void does not return. */
const VOIDABLE = ['authorized', 'submitted_for_settlement', 'settled_in_parts'];

export const transactionBody = z.object({
  transaction: z
    .object({
      amount: z.union([z.string(), z.number()]).transform(String).optional(),
      order_id: z.string().optional(),
      api_request_key: z.string().optional(),
    })
    .default({}),
});

/** Gives back part or all of a settled sale, as a credit of its own. */
export function refundSale(request: BraintreeRequest): Refund {
  const { ledger } = request;
  const asked = transactionBody.parse(request.body).transaction;
  if (findCredit(request)) throw invalid(request.id, '91505');
  const sale = findSale(request);
  if (!REFUNDABLE.includes(sale.status)) throw invalid(sale.id, '91506');
  const left = sale.amount - ledger.refundedAmount(sale);
  if (left <= 0) throw invalid(sale.id, '91512');
  const amount = readAmount(sale, asked.amount, left);
  const reference = asked.order_id ?? saleOrderId(sale);
  if (reference.length > 255) throw invalid(sale.id, '91501');
  const id = randomId('credit_', 16);
  const [createdAt, status] = [Date.now(), 'submitted_for_settlement'];
  const credit = refundOf(sale, { id, amount, reference, createdAt, status });
  if (declinesRefunds(sale)) throw declined(sale.id, creditXml({ ...credit, status: 'processor_declined' }));
  return ledger.addRefund(credit);
}

function readAmount(sale: Payment, decimal: string | undefined, left: number): number {
  if (decimal === undefined) return left;
  const amount = fromDecimal(decimal, sale.currency);
  if (amount === null) throw invalid(sale.id, '81503');
  if (amount < 0) throw invalid(sale.id, '81501');
  if (amount === 0) throw invalid(sale.id, '81531');
  if (amount > left) throw invalid(sale.id, '91521');
  return amount;
}

/** Undoes a sale or a credit that has not settled yet, whole. */
export function voidTransaction(request: BraintreeRequest): Payment | Refund {
  const credit = findCredit(request);
  if (credit === undefined) return voidSale(request, findSale(request));
  if (!VOIDABLE.includes(credit.status)) throw invalid(credit.id, '91504');
  return request.ledger.moveRefund(credit, { status: 'voided' });
}

/** Makes no credit; but the customer has the money back, so the books of what moved get an entry. */
function voidSale({ ledger, body }: BraintreeRequest, sale: Payment): Payment {
  if (!VOIDABLE.includes(sale.status)) throw invalid(sale.id, '91504');
  const { id, amount } = sale;
  const status = 'voided';
  const reference = transactionBody.parse(body).transaction.api_request_key ?? '';
  ledger.addRefund(refundOf(sale, { id, amount, status, reference, kind: 'void', createdAt: Date.now() }));
  return ledger.putPayment(sale, id, { ...sale, status });
}

/** A void of a sale is in the books too, but it is not a transaction anybody can ask for. */
export function findCredit({ ledger, scope, id }: BraintreeRequest): Refund | undefined {
  const refund = ledger.refund(scope, id);
  return refund?.kind === 'refund' ? refund : undefined;
}

/** Also a sale that was voided. */
export function findSale({ ledger, scope, id }: BraintreeRequest): Payment {
  const sale = ledger.findPayment(scope, id);
  if (sale === undefined) throw notFound();
  return sale;
}
