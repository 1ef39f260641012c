import { fromDecimal } from '../ledger/currency.ts';
import type { Payment, Refund } from '../ledger/ledger.ts';
import { CREDIT_PREFIX, declinesRefunds, findPayment } from '../ledger/payments.ts';
import { addRefund, randomId, type Sandbox } from '../ledger/state.ts';
import { declined, invalid, notFound } from './errors.ts';
import { type BraintreeRequest, findCredit, type TransactionParameters } from './request.ts';
import { creditXml, saleOrderId } from './xml.ts';

const REFUNDABLE = ['settled', 'settling'];

/** Gives back part or all of a settled sale, as a credit of its own. */
export function refundSale(
  sandbox: Sandbox,
  request: BraintreeRequest,
  parameters: TransactionParameters,
): Refund {
  if (findCredit(sandbox, request.scope, request.id)) throw invalid(request.id, '91505');
  const sale = findPayment(sandbox, request.scope, request.id);
  if (sale === undefined) throw notFound();
  if (!REFUNDABLE.includes(sale.status)) throw invalid(sale.id, '91506');
  const left = sale.amount - sandbox.ledger.refundedAmount(sale);
  if (left <= 0) throw invalid(sale.id, '91512');
  const amount = readAmount(sale, parameters.amount, left);
  const orderId = parameters.order_id ?? saleOrderId(sale);
  if (orderId.length > 255) throw invalid(sale.id, '91501');
  const credit = newCredit(sandbox, sale, amount, orderId);
  if (declinesRefunds(sale)) throw declined(sale.id, creditXml({ ...credit, status: 'processor_declined' }));
  return addRefund(sandbox, credit, null);
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

function newCredit(sandbox: Sandbox, sale: Payment, amount: number, orderId: string): Refund {
  return {
    processor: 'braintree',
    environment: sale.environment,
    id: randomId(CREDIT_PREFIX, 8),
    paymentId: sale.id,
    kind: 'refund',
    amount,
    currency: sale.currency,
    status: 'submitted_for_settlement',
    reference: orderId,
    createdAt: sandbox.now(),
    driven: false,
    reason: null,
    metadata: {},
    failureReason: null,
  };
}
