import type Stripe from 'stripe';
import type { Payment } from '../ledger.ts';
import type { DisputeState } from '../processor.ts';
import { toStripeUnits } from './amounts.ts';
import { disputeStatus, inSeconds, paymentIntentId } from './objects.ts';

const chargeback = { isChargeback: true, isClosed: false };
const inquiry = { isChargeback: false, isClosed: false };

/** An inquiry moves no money, and the money of a dispute that was won is back. */
export const disputeStates: Readonly<Record<string, DisputeState>> = {
  needs_response: chargeback,
  under_review: chargeback,
  appeal_needs_response: chargeback,
  appeal_under_review: chargeback,
  prevented: { isChargeback: true, isClosed: true },
  lost: { isChargeback: true, isClosed: true },
  won: { isChargeback: false, isClosed: true },
  warning_needs_response: inquiry,
  warning_under_review: inquiry,
  warning_closed: { isChargeback: false, isClosed: true },
};

const RESPONSE_DAYS = 10;

/** The dispute of a payment that has one. */
export function disputeObject(payment: Payment) {
  const status = disputeStatus(payment) ?? 'needs_response';
  const created = inSeconds(payment.createdAt);
  const isInquiry = status.startsWith('warning_');
  return {
    id: `du_${payment.id.slice(3)}`,
    object: 'dispute',
    amount: toStripeUnits(payment.amount, payment.currency),
    balance_transactions: [],
    charge: payment.id,
    created,
    currency: payment.currency,
    enhanced_eligibility_types: [],
    evidence: noEvidence,
    evidence_details: {
      ...{ due_by: created + RESPONSE_DAYS * 86_400, enhanced_eligibility: {}, has_evidence: false },
      ...{ past_due: false, submission_count: 0, submission_method: 'not_submitted' },
    },
    intended_submission_method: null,
    is_charge_refundable: disputeStates[status]?.isChargeback !== true,
    livemode: payment.environment === 'live',
    metadata: {},
    network_reason_code: '10.4',
    payment_intent: paymentIntentId(payment),
    payment_method_details: {
      type: 'card',
      card: {
        ...{ brand: 'visa', network: 'visa', network_reason_code: '10.4' },
        case_type: isInquiry ? 'inquiry' : 'chargeback',
      },
    },
    reason: 'general',
    status,
  } satisfies Stripe.Dispute;
}

const noEvidence = {
  ...{ access_activity_log: null, billing_address: null, cancellation_policy: null, customer_name: null },
  ...{ cancellation_policy_disclosure: null, cancellation_rebuttal: null, customer_communication: null },
  ...{ customer_email_address: null, customer_purchase_ip: null, customer_signature: null, receipt: null },
  ...{ duplicate_charge_documentation: null, duplicate_charge_explanation: null, duplicate_charge_id: null },
  ...{
    enhanced_evidence: {},
    product_description: null,
    refund_policy: null,
    refund_policy_disclosure: null,
  },
  ...{ refund_refusal_explanation: null, service_date: null, service_documentation: null },
  ...{ shipping_address: null, shipping_carrier: null, shipping_date: null, shipping_documentation: null },
  ...{ shipping_tracking_number: null, uncategorized_file: null, uncategorized_text: null },
} satisfies Stripe.Dispute.Evidence;
