import Stripe from 'stripe';
import { z } from 'zod';
import { recordedId, recordedStatus } from '../contract/outcome.ts';
import {
  keptName,
  type WebhookRequest,
  type WebhookSubject,
  type WebhookVerdict,
} from '../contract/processor.ts';
import { fromStripeAmount } from './amounts.ts';
import { accountId, type StripeCredentials } from './client.ts';
import { readArrival, readIsChargeback } from './replies.ts';

/** Null when it is missing or has the format of another API version. */
const optionalId = recordedId.nullish().catch(null);

const eventBody = z.object({
  id: recordedId,
  type: z.string().regex(/^[a-z0-9_.]{1,100}$/),
  created: z.int().min(0).max(8_640_000_000_000),
  livemode: z.boolean(),
  account: z.string().regex(accountId).nullish(),
  data: z.object({ object: z.looseObject({ object: z.string() }) }),
});

const refundBody = z.object({
  id: recordedId,
  metadata: z.object({ refund_id: z.string().optional() }).nullish().catch(null),
  charge: optionalId,
  payment_intent: optionalId,
  status: recordedStatus.nullish().catch(null),
  destination_details: z.unknown().optional(),
});

const chargeBody = z.object({
  id: recordedId,
  payment_intent: optionalId,
  amount_refunded: z.int().nonnegative().nullish().catch(null),
  currency: z.string().toLowerCase().nullish().catch(null),
});

const disputeBody = z.object({ charge: optionalId, payment_intent: optionalId });

const toleranceSeconds = 300;

/** The secrets that sign an account's events: of its endpoint, and of that for events of connected accounts. */
export function webhookSecretsOf({ webhookSecret, connectWebhookSecret }: StripeCredentials): string[] {
  return [webhookSecret, connectWebhookSecret].filter((secret) => secret !== undefined);
}

/**
 * Verifies an event. The SDK checks the signature of the raw body, and refuses one that is older than 300 seconds; one that is as far in
 * the future, which would stay valid for longer, is refused here.
 * @param secrets the signing secrets of the endpoints, any of which may have signed; without one, everything is refused.
 */
export function verifyWebhook(secrets: readonly string[], { body, headers }: WebhookRequest): WebhookVerdict {
  const header = headers['stripe-signature'];
  if (typeof header !== 'string') return notVerified('there is no single Stripe-Signature header', false);
  const isSigned = /\bt=\d+.*\bv1=[0-9a-f]{64}\b/.test(header);
  if (secrets.length === 0) return notVerified('the account has no webhookSecret', isSigned);
  try {
    const signed = signedEvent(secrets, body, header);
    if (!(signedAt(header) <= Date.now() / 1000 + toleranceSeconds))
      return notVerified('it was signed in the future', true);
    const { id: externalEventId, type, created, livemode, account = null, data } = eventBody.parse(signed);
    const event = {
      externalEventId,
      type,
      occurredAt: new Date(created * 1000),
      environment: livemode ? ('live' as const) : ('test' as const),
      account,
      subject: subjectOf(type, data.object),
    };
    return { kind: 'verified', event };
  } catch (error) {
    if (!(error instanceof Stripe.errors.StripeSignatureVerificationError)) {
      // The message may quote the body.
      return notVerified('the body is not an event', false);
    }
    return notVerified(error.message.split('\n', 1).join(''), isSigned);
  }
}

/** @throws what the SDK throws when none of the secrets has signed it. */
function signedEvent([secret = '', ...others]: readonly string[], body: Buffer, header: string): unknown {
  try {
    return Stripe.webhooks.constructEvent(body, header, secret, toleranceSeconds);
  } catch (error) {
    const isRefusal = error instanceof Stripe.errors.StripeSignatureVerificationError;
    // Too old: this secret has signed it, so no other one has.
    if (!isRefusal || others.length === 0 || error.message.startsWith('Timestamp')) throw error;
    return signedEvent(others, body, header);
  }
}

/** When an event was signed, in seconds, according to a header whose signature is valid. It is read as the SDK reads it. */
function signedAt(header: string): number {
  return Number.parseInt(
    header
      .split(',')
      .findLast((part) => part.startsWith('t='))
      ?.slice('t='.length) ?? '',
    10,
  );
}

/** @throws ZodError for a malformed refund or charge, UnexpectedAnswerError for a malformed dispute. */
function subjectOf(type: string, object: { object: string }): WebhookSubject | null {
  if (object.object === 'refund') {
    const {
      id: externalRefundId,
      metadata,
      charge,
      payment_intent: intent,
      status,
      destination_details,
    } = refundBody.parse(object);
    const bankReference = readArrival({ destination_details })?.reference;
    return {
      refundId: keptName(metadata?.refund_id, undefined, undefined).refundId,
      externalRefundId,
      processorStatus: status ?? 'unknown',
      ...(bankReference && { bankReference }),
      refundedAmount: null,
      transactionIds: [charge, intent].filter((each) => typeof each === 'string'),
    };
  }
  if (type.startsWith('charge.dispute.')) {
    const { charge, payment_intent: intent } = disputeBody.parse(object);
    const subject = paymentSubject([charge, intent], null);
    return readIsChargeback(object) ? { ...subject, isChargedBack: true } : subject;
  }
  if (type !== 'charge.refunded') return null;
  const { id: charge, payment_intent: intent, amount_refunded: amount, currency } = chargeBody.parse(object);
  return paymentSubject(
    [charge, intent],
    amount == null || currency == null ? null : minorUnits(amount, currency),
  );
}

/** Names a payment, and none of its refunds. */
function paymentSubject(
  ids: readonly (string | null | undefined)[],
  refundedAmount: bigint | null,
): WebhookSubject {
  const transactionIds = ids.filter((each) => typeof each === 'string');
  return { refundId: null, externalRefundId: null, processorStatus: null, refundedAmount, transactionIds };
}

/** Null for an invalid amount; the payment is read again then. */
function minorUnits(amount: number, currency: string): bigint | null {
  try {
    return fromStripeAmount(amount, currency);
  } catch {
    return null;
  }
}

function notVerified(reason: string, isSigned: boolean): WebhookVerdict {
  return { kind: 'not-verified', reason, isSigned };
}
