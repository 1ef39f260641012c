import { z } from 'zod';
import { fromDecimal, toDecimal } from '../currency.ts';
import { declinesRefunds, type Payment, type Refund, refundOf } from '../ledger.ts';
import { randomId } from '../random-id.ts';
import { BANK_ANSWERS, saleOrderId } from './objects.ts';
import type { BraintreeRequest } from './processor.ts';
import { invalid, notAllowed, notFound } from './refusals.ts';

/** Braintree leaves it to the merchant not to refund what was charged back. */
const REFUNDABLE = ['settled', 'settling', 'disputed'];
/** With the rest of a sale that was settled in parts, which its void does not return. */
const VOIDABLE = ['authorized', 'submitted_for_settlement', 'settled_in_parts'];

const transactionBody = z.object({
  transaction: z
    .looseObject({
      amount: z.union([z.string(), z.number()]).transform(String).optional(),
      order_id: z.string().optional(),
      merchant_account_id: z.string().optional(),
      api_request_key: z.string().optional(),
    })
    .default({}),
});

const PARAMETERS = ['amount', 'order_id', 'api_request_key', 'merchant_account_id'];

export const MAX_KEY_LENGTH = 255;

/** What is asked of a refund or a void. */
export function readOptions(body: unknown) {
  return transactionBody.parse(body).transaction;
}

/** Checks what is asked before work begins, so that it leaves the request key unused. */
function checkedOptions({ body, id }: BraintreeRequest) {
  const options = readOptions(body);
  if (Object.keys(options).some((name) => !PARAMETERS.includes(name))) throw notAllowed();
  if ((options.api_request_key ?? '').length > MAX_KEY_LENGTH) throw invalid(id, '915230');
  return options;
}

/** Gives back part or all of a settled sale, as a credit of its own, which the customer's bank may decline at once. */
export function refundSale(request: BraintreeRequest): Refund {
  const { ledger } = request;
  const asked = checkedOptions(request);
  if (findCredit(request)) throw invalid(request.id, '91505');
  const sale = findSale(request);
  if (!REFUNDABLE.includes(sale.status)) throw invalid(sale.id, '91506');
  const left = sale.amount - ledger.refundedAmount(sale);
  if (left <= 0) throw invalid(sale.id, '91512');
  const amount = readAmount(sale, asked.amount, left);
  const reference = asked.order_id ?? saleOrderId(sale);
  if (reference.length > 255) throw invalid(sale.id, '91501');
  const id = randomId('credit_', 16);
  const { merchant_account_id: merchantAccountId } = asked;
  const credit = { id, amount, reference, merchantAccountId, createdAt: ledger.now() };
  const answer = BANK_ANSWERS[toDecimal(amount, sale.currency)];
  if (declinesRefunds(sale) || answer?.type === 'hard_declined') {
    return ledger.addRefund(refundOf(sale, { ...credit, status: 'processor_declined', kind: 'decline' }));
  }
  return ledger.addRefund(
    refundOf(sale, { ...credit, status: 'submitted_for_settlement', becomes: 'settled' }),
  );
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
  const { api_request_key: reference = '' } = checkedOptions(request);
  const credit = findCredit(request);
  if (credit === undefined) return voidSale(request, findSale(request), reference);
  if (!VOIDABLE.includes(credit.status)) throw invalid(credit.id, '91504');
  return request.ledger.moveRefund(credit, { status: 'voided' });
}

/** Makes no credit; but the customer has the money back, so the books of what moved get an entry. */
function voidSale({ ledger }: BraintreeRequest, sale: Payment, reference: string): Payment {
  if (!VOIDABLE.includes(sale.status)) throw invalid(sale.id, '91504');
  const { id, amount } = sale;
  const status = 'voided';
  ledger.addRefund(refundOf(sale, { id, amount, status, reference, kind: 'void', createdAt: ledger.now() }));
  return ledger.changePayment(sale, { status });
}

/** A void of a sale is in the books too, but it is not a transaction anybody can ask for. */
export function findCredit({ ledger, scope, id }: BraintreeRequest): Refund | undefined {
  const refund = ledger.refund(scope, id);
  return refund?.kind === 'void' ? undefined : refund;
}

/** Also a sale that was voided. */
export function findSale({ ledger, scope, id }: BraintreeRequest): Payment {
  const sale = ledger.findPayment(scope, id);
  if (sale === undefined) throw notFound();
  return sale;
}
