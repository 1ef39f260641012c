import { z } from 'zod';
import { isCurrency } from '../../money/money.ts';
import {
  processorFailure,
  readAnswer,
  recordedId,
  recordedReference,
  recordedStatus,
} from '../contract/outcome.ts';
import {
  isLive,
  keptName,
  type ListedRefund,
  type ProcessorFailure,
  type ProcessorPayment,
  type ProcessorRefund,
  type ProcessorRefundState,
  type RefundArrival,
} from '../contract/processor.ts';
import { fromStripeAmount } from './amounts.ts';
import { accountId } from './client.ts';
import type { ResolvedPayment } from './resolve-payment.ts';

const currency = z.string().toLowerCase();

/** @throws UnexpectedAnswerError */
export function readAccountId(reply: unknown): string {
  return readAnswer(z.object({ id: z.string().regex(accountId) }), reply).id;
}

/** An id, or the object where it was expanded. */
export const paymentReference = z.union([z.string(), z.looseObject({ id: z.string() })]).nullish();

/** Under the name of its type, such as `card`. What cannot be read is as good as left out. */
const destinationDetails = z
  .looseObject({ type: z.string() })
  .transform((details) => details[details.type])
  .pipe(
    z.object({
      reference: recordedReference.nullish().catch(null),
      reference_type: recordedReference.nullish().catch(null),
      // Of a card: refund, reversal, or pending until it is known which.
      type: z.enum(['refund', 'reversal']).nullish().catch(null),
    }),
  )
  .nullish()
  .catch(null);

/** How the customer gets the money of a refund; undefined while Stripe does not know it. */
export function readArrival(refund: { destination_details?: unknown }): RefundArrival | undefined {
  const details = destinationDetails.parse(refund.destination_details);
  if (details == null) return undefined;
  const { reference = null, type } = details;
  const referenceType = reference === null ? null : (details.reference_type ?? null);
  const kind = type === 'refund' ? 'credit' : (type ?? null);
  return kind === null && reference === null ? undefined : { kind, reference, referenceType };
}

/** After so many days Stripe's documents ask to look into a refund: of a card, and of any other method. */
const usualDays = { card: 10, other: 30 };

/** What an open refund waits for, and from when on it is overdue. */
function progressOf({
  status,
  pending_reason: pendingReason,
  next_action: nextAction,
  destination_details: destination,
  created,
}: z.infer<typeof refundReply>): Pick<ProcessorRefund, 'waitsFor' | 'dueBy'> {
  if (mapStatus(status) !== 'open') return {};
  if (status === 'requires_action') {
    const expiresAt = nextAction?.display_details?.expires_at;
    return { waitsFor: 'customer_action', ...(expiresAt != null && { dueBy: new Date(expiresAt * 1000) }) };
  }
  const days = destination?.type === 'card' ? usualDays.card : usualDays.other;
  const dueBy = created == null ? {} : { dueBy: new Date((created + days * 24 * 60 * 60) * 1000) };
  if (pendingReason === 'insufficient_funds') return { waitsFor: 'insufficient_balance' };
  if (pendingReason === 'charge_pending') return { waitsFor: 'payment_unsettled', ...dueBy };
  return dueBy;
}

/** Since 1970, in the range of Date. */
const seconds = z.int().min(0).max(8_640_000_000_000);

const refundReply = z.object({
  object: z.literal('refund'),
  id: recordedId,
  amount: z.int().nonnegative(),
  currency,
  status: recordedStatus.nullable(),
  metadata: z.record(z.string(), z.string()).nullish(),
  failure_reason: z.string().nullish(),
  destination_details: z.looseObject({ type: z.string() }).nullish().catch(null),
  pending_reason: z.string().nullish().catch(null),
  next_action: z
    .object({ display_details: z.object({ expires_at: seconds }).nullish() })
    .nullish()
    .catch(null),
  created: seconds.nullish().catch(null),
});

const listedRefundReply = z.object({ charge: paymentReference, payment_intent: paymentReference });

const refundListReply = z.object({
  object: z.literal('list'),
  data: z.array(z.unknown()),
  has_more: z.boolean(),
});

const chargeReply = z.object({
  object: z.literal('charge'),
  id: z.string().min(1),
  amount: z.int().nonnegative(),
  amount_captured: z.int().nonnegative().nullish(),
  amount_refunded: z.int().nonnegative(),
  captured: z.boolean(),
  created: seconds,
  currency,
  disputed: z.boolean(),
  payment_intent: paymentReference,
  refunded: z.boolean(),
  status: z.string(),
  transfer: paymentReference,
  transfer_data: z.object({ destination: paymentReference }).nullish(),
  application_fee: paymentReference,
  application_fee_amount: z.int().nonnegative().nullish(),
});

const disputeReply = z.object({ is_charge_refundable: z.boolean(), status: z.string() });

const disputeListReply = z.object({ object: z.literal('list'), data: z.array(disputeReply) });

const paymentIntentReply = z.object({
  object: z.literal('payment_intent'),
  latest_charge: z.union([z.string().min(1), z.looseObject({ object: z.literal('charge') })]).nullable(),
});

export type StripeCharge = z.infer<typeof chargeReply>;

/** @throws UnexpectedAnswerError, as all readers here. */
export function readRefund(reply: unknown): ProcessorRefund {
  const refund = readAnswer(refundReply, reply);
  const state = mapStatus(refund.status);
  const arrival = readArrival(refund);
  return {
    id: refund.id,
    amount: fromStripeAmount(refund.amount, refund.currency),
    currency: refund.currency,
    state,
    processorStatus: refund.status ?? 'unknown',
    ...keptName(
      refund.metadata?.refund_id,
      refund.metadata?.request_digest,
      refund.metadata?.refund_organization,
    ),
    failure: state === 'failed' ? refundFailure(refund.failure_reason ?? 'unknown') : null,
    ...progressOf(refund),
    ...(arrival && { arrival }),
  };
}

export function readRefundPage(reply: unknown): { refunds: ProcessorRefund[]; hasMore: boolean } {
  const page = readAnswer(refundListReply, reply);
  return { refunds: page.data.map(readRefund), hasMore: page.has_more };
}

/**
 * One page of the refunds of all payments; `last` is the id of its last one. No payment here is in a currency that is not known, and a
 * refund in one must not keep the others from being compared.
 */
export function readListedPage(reply: unknown): {
  refunds: ListedRefund[];
  last: string | undefined;
  hasMore: boolean;
} {
  const { data, has_more: hasMore } = readAnswer(refundListReply, reply);
  const listed = data.map((each) => ({ each, ...readAnswer(listedReply, each) }));
  const known = listed.filter((one) => isCurrency(one.currency));
  return { refunds: known.map(({ each }) => readListedRefund(each)), last: listed.at(-1)?.id, hasMore };
}

const listedReply = z.object({ id: recordedId, currency });

function readListedRefund(reply: unknown): ListedRefund {
  const { charge, payment_intent: paymentIntent } = readAnswer(listedRefundReply, reply);
  return { ...readRefund(reply), transactionIds: idsOf(charge, paymentIntent) };
}

function idsOf(...references: z.infer<typeof paymentReference>[]): string[] {
  return references
    .filter((reference) => reference != null)
    .map((reference) => (typeof reference === 'string' ? reference : reference.id));
}

export function readCharge(reply: unknown): StripeCharge {
  return readAnswer(chargeReply, reply);
}

/** The charge of a payment intent, or its id; null while nothing has been paid. */
export function readLatestCharge(reply: unknown): StripeCharge | string | null {
  const { latest_charge: latest } = readAnswer(paymentIntentReply, reply);
  return latest === null || typeof latest === 'string' ? latest : readCharge(latest);
}

/** True when a charge has a dispute by which the customer has the money, or may get it although the charge is refunded. */
export function readIsChargedBack(reply: unknown): boolean {
  return readAnswer(disputeListReply, reply).data.some(isChargeback);
}

/** The same of one dispute, as in an event. */
export function readIsChargeback(dispute: unknown): boolean {
  return isChargeback(readAnswer(disputeReply, dispute));
}

function isChargeback({ status, is_charge_refundable: isRefundable }: z.infer<typeof disputeReply>): boolean {
  // An inquiry moves no money, also one that was closed. One that was prevented has paid the customer without a chargeback.
  if (status === 'won' || status.startsWith('warning_')) return false;
  return status === 'prevented' || !isRefundable;
}

/**
 * A charge and its refunds, newest first. The amount is the captured one, which may be less than the authorization, or more
 * after an overcapture.
 * @param requested the id by which it was read, its own or its payment intent's, and the names that led there.
 */
export function toPayment(
  { id: requestedId, names }: ResolvedPayment,
  charge: StripeCharge,
  refunds: ProcessorRefund[],
  isChargedBack: boolean,
): ProcessorPayment {
  const amount = capturedAmount(charge) || charge.amount;
  return {
    // A failed charge is not what its payment intent stands for: the customer may have paid by another one.
    transactionIds: [
      ...(charge.status === 'failed' ? [requestedId] : idsOf(charge.payment_intent, charge.id)),
      ...names,
    ],
    amount: fromStripeAmount(amount, charge.currency),
    currency: charge.currency,
    chargedAt: new Date(charge.created * 1000),
    refunds: releasesAuthorization(charge, refunds) ? refunds.slice(0, -1) : refunds,
    unrefundable: unrefundable(charge, isChargedBack),
    ...connectOf(charge),
  };
}

/**
 * What a charge has to do with a connected account. A transfer is made, and a fee taken, as the charge is captured; a charge whose funds
 * were transferred later, apart from it, has none. A fee of 0 is none.
 */
function connectOf(
  charge: StripeCharge,
): Pick<ProcessorPayment, 'hasTransfer' | 'transferDestination' | 'applicationFee'> {
  const { transfer, transfer_data: data, application_fee: fee, application_fee_amount: amount } = charge;
  return {
    hasTransfer: transfer != null || data != null,
    transferDestination: idsOf(data?.destination)[0] ?? null,
    applicationFee: fee != null || (amount ?? 0) > 0,
  };
}

/** A `pending` charge can be refunded: Stripe delays the refund until the charge has settled. */
function unrefundable(charge: StripeCharge, isChargedBack: boolean): ProcessorFailure | null {
  if (charge.status === 'failed') {
    return processorFailure('charge_failed', 'The payment failed, so there is nothing to refund.');
  }
  if (capturedAmount(charge) === 0) {
    const message = 'The payment has not been captured, so there is nothing to refund. Cancel it in Stripe.';
    return processorFailure('charge_uncaptured', message);
  }
  if (!isChargedBack) return null;
  const message =
    'The payment was charged back, so Stripe does not refund it. Respond to the dispute in Stripe.';
  return processorFailure('charge_disputed', message);
}

/** `captured` alone is not enough: it stays false until the last of several captures. */
function capturedAmount(charge: StripeCharge): number {
  return charge.amount_captured ?? (charge.captured ? charge.amount : 0);
}

/**
 * True when the oldest refund only released the uncaptured part of the authorization, as Stripe did before API version
 * 2025-03-31. A refund made elsewhere of exactly that amount looks the same, unless it was the last of the captured amount.
 */
function releasesAuthorization(charge: StripeCharge, refunds: readonly ProcessorRefund[]): boolean {
  const oldest = refunds.at(-1);
  const captured = capturedAmount(charge);
  if (!charge.captured || captured >= charge.amount || oldest === undefined) return false;
  const released = fromStripeAmount(charge.amount - captured, charge.currency);
  if (oldest.refundId !== null || !isLive(oldest) || oldest.amount !== released) return false;
  return !charge.refunded || charge.amount_refunded > captured;
}

const failureReasons: Readonly<Record<string, string>> = {
  charge_for_pending_refund_disputed: 'The customer disputed the charge while the refund was pending.',
  declined: 'The refund was declined by the bank.',
  expired_or_canceled_card: 'The card has expired or was cancelled.',
  insufficient_funds: 'The Stripe balance was not sufficient for the refund.',
  lost_or_stolen_card: 'The card was reported lost or stolen.',
  merchant_request: 'The refund was stopped at the request of the business.',
};

function refundFailure(reason: string): ProcessorFailure {
  const message = failureReasons[reason] ?? `Stripe reports the refund as failed (${reason}).`;
  return processorFailure(reason, message);
}

const states: ReadonlyMap<string | null, ProcessorRefundState> = new Map([
  ['pending', 'open'],
  // The customer has to act first, for example enter bank details.
  ['requires_action', 'open'],
  // Sent to the bank; it may still fail weeks later.
  ['succeeded', 'completed'],
  ['failed', 'failed'],
  ['canceled', 'cancelled'],
]);

/** The meaning of a refund's status, which Stripe types as nullable text. */
export function mapStatus(status: string | null): ProcessorRefundState {
  return states.get(status) ?? 'open';
}
