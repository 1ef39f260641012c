import { createHash, createHmac } from 'node:crypto';
import { toDecimal } from '../currency.ts';
import type { Ledger, Payment, Refund } from '../ledger.ts';
import type { WebhookRequest } from '../webhooks.ts';
import { creditXml, disputeStatus, disputeXml } from './objects.ts';
import { failedRefundXml, notificationXml } from './xml.ts';

const FAILED: ReadonlySet<string> = new Set([
  'failed',
  'processor_declined',
  'gateway_rejected',
  'settlement_declined',
]);

/**
 * What Braintree tells of a refund that changed: that it failed, and of one to a bank account also that it settled, or
 * that its settlement was declined. Of the settlement of card refunds it tells nothing.
 */
export function braintreeNotifications(ledger: Ledger, previous: Refund | null, refund: Refund): string[] {
  if (previous === null || refund.kind !== 'refund') return [];
  const payment = ledger.knownPayment(refund, refund.paymentId);
  const kind = kindOf(refund.status, payment?.paymentMethod === 'us_bank_account');
  if (kind === null) return [];
  const amount = toDecimal(refund.amount, refund.currency);
  const subject =
    kind === 'refund_failed' ? failedRefundXml(refund.id, amount, refund.status) : creditXml(ledger, refund);
  return [written(kind, subject)];
}

/** The notification of a dispute that began, changed or ended. */
export function disputeNotifications(previous: Payment, sale: Payment): string[] {
  const status = disputeStatus(sale);
  if (status === null || status === disputeStatus(previous)) return [];
  return [written(status === 'open' ? 'dispute_opened' : `dispute_${status}`, disputeXml(sale))];
}

function written(kind: string, subject: string): string {
  const encoded = Buffer.from(notificationXml(kind, Date.now(), subject)).toString('base64');
  // Braintree breaks the lines of its base 64, and signs the breaks as well, also the last one.
  return encoded.replace(/.{1,60}/g, '$&\n');
}

function kindOf(status: string, isBankAccount: boolean): string | null {
  if (isBankAccount && status === 'settled') return 'transaction_settled';
  if (isBankAccount && status === 'settlement_declined') return 'transaction_settlement_declined';
  return FAILED.has(status) ? 'refund_failed' : null;
}

/** The form that Braintree sends, signed with the keys of the account. */
export function signedNotification(
  payload: string,
  { publicKey = '', privateKey = '' }: Record<string, string>,
): WebhookRequest {
  const key = createHash('sha1').update(privateKey).digest();
  const signature = createHmac('sha1', key).update(payload).digest('hex');
  const form = new URLSearchParams({ bt_signature: `${publicKey}|${signature}`, bt_payload: payload });
  return {
    body: form.toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'user-agent': 'Braintree (sandbox)' },
  };
}
