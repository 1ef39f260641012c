import type { Payment } from '../ledger/ledger.ts';
import { findPayment } from '../ledger/payments.ts';
import { addRefund, moveRefund, type Sandbox } from '../ledger/state.ts';
import { invalid, notFound } from './errors.ts';
import { type BraintreeRequest, findCredit, type TransactionParameters } from './request.ts';

const VOIDABLE = ['authorized', 'submitted_for_settlement'];

/** Undoes a sale or a credit that has not settled yet, whole. */
export function voidTransaction(
  sandbox: Sandbox,
  request: BraintreeRequest,
  parameters: TransactionParameters,
): { id: string } {
  const credit = findCredit(sandbox, request.scope, request.id);
  if (credit) {
    if (!VOIDABLE.includes(credit.status)) throw invalid(credit.id, '91504');
    return moveRefund(sandbox, credit, { status: 'voided' }, null);
  }
  const sale = findPayment(sandbox, request.scope, request.id);
  if (sale === undefined) throw notFound();
  if (!VOIDABLE.includes(sale.status)) throw invalid(sale.id, '91504');
  return voidSale(sandbox, sale, parameters.api_request_key ?? '');
}

/** Makes no credit; but the customer has the money back, so the books of what moved get an entry. */
function voidSale(sandbox: Sandbox, sale: Payment, key: string): Payment {
  const voided = { ...sale, status: 'voided' };
  sandbox.ledger.putPayment(voided);
  addRefund(
    sandbox,
    {
      processor: 'braintree',
      environment: sale.environment,
      id: sale.id,
      paymentId: sale.id,
      kind: 'void',
      amount: sale.amount,
      currency: sale.currency,
      status: 'voided',
      reference: key,
      createdAt: sandbox.now(),
      driven: false,
      reason: null,
      metadata: {},
      failureReason: null,
    },
    null,
  );
  return voided;
}
