import { z } from 'zod';
import { fromDecimal, isCurrency } from '../../money/money.ts';
import {
  processorFailure,
  readAnswer,
  recordedId,
  recordedReference,
  recordedStatus,
  UnexpectedAnswerError,
} from '../contract/outcome.ts';
import type { ProcessorFailure, ProcessorRefund, ProcessorRefundState } from '../contract/processor.ts';
import { nameInOrderId } from './order-id.ts';

const optionalText = z.string().nullish();

const declineFields = {
  processorResponseCode: optionalText,
  processorResponseText: optionalText,
  processorSettlementResponseCode: optionalText,
  processorSettlementResponseText: optionalText,
  gatewayRejectionReason: optionalText,
};

const disputeReply = z.object({ kind: optionalText, status: z.string() });

const transactionReply = z.object({
  ...declineFields,
  id: recordedId,
  type: z.string(),
  status: recordedStatus,
  amount: z.string(),
  currencyIsoCode: z.string().toLowerCase().refine(isCurrency),
  createdAt: optionalText,
  orderId: optionalText,
  /** Its id in the GraphQL API. */
  globalId: optionalText,
  refundIds: z.array(z.string()).nullish(),
  refundedTransactionId: optionalText,
  acquirerReferenceNumber: recordedReference.nullish().catch(null),
  disputes: z.array(disputeReply).nullish(),
  /** The sales that collected parts of this one, which is only their authorization. */
  partialSettlementTransactionIds: z.array(z.string()).nullish(),
});

export type BraintreeTransaction = z.infer<typeof transactionReply> & { amountMinor: bigint };

const refusedTransaction = z.object({ ...declineFields, status: z.string() });

const validationErrors = z.array(z.object({ code: z.string(), message: z.string() }));

/** What the SDK returns when Braintree refuses a request. */
export interface BraintreeRefusal {
  message: string;
  errors: z.infer<typeof validationErrors>;
  transaction: z.infer<typeof refusedTransaction> | null;
}

const resultReply = z.discriminatedUnion('success', [
  z.object({ success: z.literal(true), transaction: z.unknown() }),
  z.object({
    success: z.literal(false),
    message: z.string(),
    // A method that needs its object, so the object is not copied.
    errors: z.custom<{ deepErrors(): unknown }>(hasDeepErrors),
    transaction: refusedTransaction.nullish(),
  }),
]);

/** A sale or a credit. @throws UnexpectedAnswerError, as all readers here. */
export function readTransaction(reply: unknown): BraintreeTransaction {
  const transaction = readAnswer(transactionReply, reply);
  try {
    return { ...transaction, amountMinor: fromDecimal(transaction.amount, transaction.currencyIsoCode) };
  } catch (error) {
    throw new UnexpectedAnswerError("The processor's answer is not as documented: amount.", { cause: error });
  }
}

/** The reply to a refund or void: the transaction, or the refusal. */
export function readResult(reply: unknown): BraintreeTransaction | BraintreeRefusal {
  const result = readAnswer(resultReply, reply);
  if (result.success) return readTransaction(result.transaction);
  const errors = readAnswer(validationErrors, result.errors.deepErrors());
  return { message: result.message, errors, transaction: result.transaction ?? null };
}

export function isRefusal(result: BraintreeTransaction | BraintreeRefusal): result is BraintreeRefusal {
  return 'errors' in result;
}

const searchReply = z.object({ searchResults: z.object({ ids: z.array(z.string()) }) });

const pageReply = z.object({
  creditCardTransactions: z.object({
    // The SDK's XML parser returns an object for a single transaction, and nothing for none.
    transaction: z.union([z.array(z.unknown()), z.looseObject({}).transform((one) => [one])]).optional(),
  }),
});

/** The ids that a search found. */
export function readSearch(reply: unknown): string[] {
  return readAnswer(searchReply, reply).searchResults.ids;
}

/** The transactions on a page of a search. */
export function readPage(reply: unknown): ListedTransaction[] {
  return (readAnswer(pageReply, reply).creditCardTransactions.transaction ?? []).map(readListed);
}

/** Null for one in a currency that is not known: no payment here is, and it must not keep the others from being compared. */
interface ListedTransaction {
  id: string;
  transaction: BraintreeTransaction | null;
}

const listedReply = z.object({ id: recordedId, currencyIsoCode: z.string().toLowerCase() });

/** A sale or a credit of any currency. */
export function readListed(reply: unknown): ListedTransaction {
  const { id, currencyIsoCode } = readAnswer(listedReply, reply);
  return { id, transaction: isCurrency(currencyIsoCode) ? readTransaction(reply) : null };
}

/** A credit, made for the given sale. */
export function toRefund(credit: BraintreeTransaction, saleId: string): ProcessorRefund {
  if (credit.type !== 'credit' || credit.refundedTransactionId !== saleId) {
    throw new UnexpectedAnswerError(`${credit.id} is not a refund of ${saleId}.`);
  }
  const state = mapStatus(credit.status);
  const reference = credit.acquirerReferenceNumber ?? null;
  return {
    id: credit.id,
    amount: credit.amountMinor,
    currency: credit.currencyIsoCode,
    state,
    processorStatus: credit.status,
    ...nameInOrderId(credit.orderId),
    failure:
      state === 'failed' ? declineOf(credit, `Braintree reports the refund as ${credit.status}.`) : null,
    ...(state === 'open' && dueByOf(credit)),
    ...(reference !== null && {
      arrival: { kind: 'credit', reference, referenceType: 'acquirer_reference_number' },
    }),
  };
}

/** True when a dispute has given the customer the money back. One of the kind `retrieval` is an inquiry, which moves none. */
export function isChargedBack({ disputes }: BraintreeTransaction): boolean {
  return (disputes ?? []).some(isChargeback);
}

/** The same of one dispute, as in a notification. */
export function readIsChargeback(dispute: unknown): boolean {
  return isChargeback(readAnswer(disputeReply, dispute));
}

function isChargeback({ kind, status }: z.infer<typeof disputeReply>): boolean {
  return kind !== 'retrieval' && status !== 'won';
}

/** True for a sale whose void returned all of it. The void of one that was settled in parts returns none of them. */
export function isVoided({ status, partialSettlementTransactionIds: parts }: BraintreeTransaction): boolean {
  return status === 'voided' && (parts ?? []).length === 0;
}

/** A credit settles within days, a bank debit's within weeks. */
const usualDays = 30;

function dueByOf({ createdAt }: BraintreeTransaction): Pick<ProcessorRefund, 'dueBy'> {
  const createdMs = Date.parse(createdAt ?? '');
  return Number.isNaN(createdMs) ? {} : { dueBy: new Date(createdMs + usualDays * 24 * 60 * 60 * 1000) };
}

/** A voided sale, as a full refund. Braintree makes no credit for it, so it has the sale's id. */
export function voidAsRefund(sale: BraintreeTransaction, refundId: string | null): ProcessorRefund {
  return {
    id: sale.id,
    amount: sale.amountMinor,
    currency: sale.currencyIsoCode,
    state: 'completed',
    processorStatus: sale.status,
    refundId,
    requestDigest: null,
    failure: null,
    arrival: { kind: 'reversal', reference: null, referenceType: null },
  };
}

/**
 * Why a refund was declined: the code and message that belong to its status.
 * @param fallback the message when Braintree gives none.
 */
export function declineOf(refund: z.infer<typeof refusedTransaction>, fallback: string): ProcessorFailure {
  const { status, processorResponseCode, processorResponseText } = refund;
  // A code that starts with 1 is an approval, from before the failure.
  const processor = processorResponseCode?.startsWith('1')
    ? []
    : [processorResponseCode, processorResponseText];
  const words: Record<string, (string | null | undefined)[]> = {
    processor_declined: processor,
    failed: processor,
    settlement_declined: [refund.processorSettlementResponseCode, refund.processorSettlementResponseText],
    gateway_rejected: [refund.gatewayRejectionReason],
  };
  const [code, message] = words[status] ?? [];
  return processorFailure(code || status, message || fallback);
}

function hasDeepErrors(errors: unknown): boolean {
  return (
    typeof errors === 'object' &&
    errors !== null &&
    'deepErrors' in errors &&
    typeof errors.deepErrors === 'function'
  );
}

const refundStates: ReadonlyMap<string, ProcessorRefundState> = new Map([
  ['authorizing', 'open'],
  ['authorized', 'open'],
  ['submitted_for_settlement', 'open'],
  ['settling', 'open'],
  ['settlement_pending', 'open'],
  ['settlement_confirmed', 'open'],
  // The bank may still return the money; the status is settlement_declined then.
  ['settled', 'completed'],
  ['processor_declined', 'failed'],
  ['gateway_rejected', 'failed'],
  ['failed', 'failed'],
  ['settlement_declined', 'failed'],
  ['authorization_expired', 'failed'],
  // Cancelled before it had settled.
  ['voided', 'cancelled'],
]);

/** The meaning of a credit's status. A credit is Braintree's term for a refund. */
export function mapStatus(status: string): ProcessorRefundState {
  return refundStates.get(status) ?? 'open';
}

/**
 * How a sale can be refunded.
 * - `refund`: it has settled, or is settling.
 * - `void`: not settled yet: it can only be voided, in full.
 * - `voided`: it has been voided.
 */
type SaleStage = 'refund' | 'void' | 'voided';

const saleStages: ReadonlyMap<string, SaleStage> = new Map([
  ['authorized', 'void'],
  ['submitted_for_settlement', 'void'],
  // Some PayPal payments.
  ['settlement_pending', 'void'],
  ['voided', 'voided'],
]);

/** The stage of a sale that was paid, by its status. For an unknown status, Braintree decides about the refund. */
export function saleStage(status: string): SaleStage {
  return saleStages.get(status) ?? 'refund';
}
