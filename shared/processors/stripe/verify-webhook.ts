import { z } from 'zod';
import { recordedId, recordedStatus } from '../contract/outcome.ts';
import {
  keptName,
  type WebhookRequest,
  type WebhookSubject,
  type WebhookVerdict,
} from '../contract/processor.ts';
import { fromStripeAmount } from './amounts.ts';
import { stripeSdk } from './client.ts';
import { readArrival } from './replies.ts';

/** Null when it is missing or has the format of another API version. */
const optionalId = recordedId.nullish().catch(null);

const eventBody = z.object({
  id: recordedId,
  type: z.string().regex(/^[a-z0-9_.]{1,100}$/),
  created: z.int().min(0).max(8_640_000_000_000),
  livemode: z.boolean(),
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

const toleranceSeconds = 300;

/**
 * Verifies an event. The SDK checks the signature of the raw body, and refuses one that is older than 300 seconds; one that is as far in
 * the future, which would stay valid for longer, is refused here.
 * @param secret the signing secret of the endpoint; null refuses everything.
 */
export function verifyWebhook(secret: string | null, { body, headers }: WebhookRequest): WebhookVerdict {
  if (secret === null) return notVerified('the account has no webhookSecret');
  const header = headers['stripe-signature'];
  if (typeof header !== 'string') return notVerified('there is no single Stripe-Signature header');
  try {
    const signed: unknown = stripeSdk().webhooks.constructEvent(body, header, secret, toleranceSeconds);
    if (!(signedAt(header) <= Date.now() / 1000 + toleranceSeconds))
      return notVerified('it was signed in the future');
    const { id: externalEventId, type, created, livemode, data } = eventBody.parse(signed);
    const event = {
      externalEventId,
      type,
      occurredAt: new Date(created * 1000),
      environment: livemode ? ('live' as const) : ('test' as const),
      subject: subjectOf(type, data.object),
    };
    return { kind: 'verified', event };
  } catch (error) {
    return notVerified(reasonOf(error));
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

/** @throws ZodError for a malformed refund or charge. */
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
      refundId: keptName(metadata?.refund_id, undefined).refundId,
      externalRefundId,
      processorStatus: status ?? 'unknown',
      ...(bankReference && { bankReference }),
      refundedAmount: null,
      transactionIds: [charge, intent].filter((each) => typeof each === 'string'),
    };
  }
  // Names the payment that was refunded, but not the refund.
  if (type !== 'charge.refunded') return null;
  const { id: charge, payment_intent: intent, amount_refunded: amount, currency } = chargeBody.parse(object);
  const transactionIds = [charge, intent].filter((each) => typeof each === 'string');
  const refundedAmount = amount == null || currency == null ? null : minorUnits(amount, currency);
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

/** The message of any other error may quote the body. */
function reasonOf(error: unknown): string {
  if (!(error instanceof stripeSdk().errors.StripeSignatureVerificationError))
    return 'the body is not an event';
  return error.message.split('\n', 1).join('');
}

function notVerified(reason: string): WebhookVerdict {
  return { kind: 'not-verified', reason };
}
