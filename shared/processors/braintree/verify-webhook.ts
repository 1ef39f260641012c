import { createHash } from 'node:crypto';
import { z } from 'zod';
import { recordedStatus } from '../contract/outcome.ts';
import type { WebhookRequest, WebhookSubject, WebhookVerdict } from '../contract/processor.ts';
import type { Notifications } from './client.ts';
import { nameInOrderId } from './order-id.ts';
import { readIsChargeback } from './replies.ts';

const notificationBody = z.object({
  kind: z.string().regex(/^[a-z0-9_]{1,100}$/),
  timestamp: z.coerce.date(),
  transaction: z.unknown().optional(),
  dispute: z.unknown().optional(),
});

/** Enough for hundreds of pairs of key and signature. The SDK needs a millisecond per KiB to check one. */
const longestSignature = 16 * 1024;

const id = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);

const transactionBody = z.object({
  id,
  status: recordedStatus.nullish().catch(null),
  type: z.string().nullish(),
  orderId: z.string().nullish(),
  refundedTransactionId: id.nullish(),
});

const disputeBody = z.object({ transaction: z.object({ id }) });

/**
 * Verifies a notification with the account's keys. Braintree signs no time and sends no id, so the digest of the payload is the
 * id: a repeated notification is a duplicate.
 */
export async function verifyWebhook(
  notifications: Notifications,
  { body }: WebhookRequest,
): Promise<WebhookVerdict> {
  const form = new URLSearchParams(body.toString());
  const [signature, ...moreSignatures] = form.getAll('bt_signature');
  const [signed, ...morePayloads] = form.getAll('bt_payload');
  if (signature === undefined || signed === undefined || moreSignatures.length + morePayloads.length > 0) {
    return notVerified('bt_signature and bt_payload are not there once each', false);
  }
  if (signature.length > longestSignature) return notVerified('bt_signature is longer than 16 KiB', false);
  try {
    const parsed: unknown = await notifications.parse(signature, signed);
    const { kind: type, timestamp: occurredAt, ...about } = notificationBody.parse(parsed);
    // The signature is valid with and without the line break at the end.
    const externalEventId = createHash('sha256').update(signed.trimEnd()).digest('hex');
    const subject = subjectOf(type, about);
    const event = { externalEventId, type, occurredAt, environment: null, account: null, subject };
    return { kind: 'verified', event };
  } catch (error) {
    const isRefusal = error instanceof Error && 'type' in error && error.type === 'invalidSignatureError';
    // The message of any other error may quote the body.
    return isRefusal
      ? notVerified(error.message, /^\w+\|[0-9a-f]{40}\b/.test(signature))
      : notVerified('the payload is not a notification', false);
  }
}

/** The answer to Braintree's challenge; null for an invalid challenge. */
export function answerChallenge(notifications: Notifications, challenge: string): string | null {
  try {
    return notifications.verify(challenge);
  } catch {
    return null;
  }
}

/** @throws ZodError for a malformed transaction, UnexpectedAnswerError for a malformed dispute. */
function subjectOf(
  type: string,
  { transaction, dispute }: Pick<z.infer<typeof notificationBody>, 'transaction' | 'dispute'>,
): WebhookSubject | null {
  if (dispute !== undefined) return disputedSale(dispute);
  return transaction === undefined ? null : refundOf(type, transaction);
}

/** Names the sale, and none of its refunds. */
function disputedSale(dispute: unknown): WebhookSubject {
  const { transaction } = disputeBody.parse(dispute);
  return {
    ...{ refundId: null, externalRefundId: null, processorStatus: null, refundedAmount: null },
    transactionIds: [transaction.id],
    ...(readIsChargeback(dispute) && { isChargedBack: true }),
  };
}

/**
 * Only a notification about a credit is about a refund. `refund_failed` leaves out the type, and names the sale by an internal
 * number.
 */
function refundOf(type: string, transaction: unknown): WebhookSubject | null {
  const credit = transactionBody.parse(transaction);
  if (type !== 'refund_failed' && credit.type !== 'credit') return null;
  const { orderId, refundedTransactionId: saleId } = credit;
  return {
    refundId: nameInOrderId(orderId).refundId,
    externalRefundId: credit.id,
    processorStatus: credit.status ?? null,
    refundedAmount: null,
    transactionIds: saleId == null ? [] : [saleId],
  };
}

function notVerified(reason: string, isSigned: boolean): WebhookVerdict {
  return { kind: 'not-verified', reason, isSigned };
}
