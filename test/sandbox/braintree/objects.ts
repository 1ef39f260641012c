import { toDecimal } from '../currency.ts';
import type { Ledger, Payment, Refund } from '../ledger.ts';
import type { DisputeState } from '../processor.ts';
import { element, elements, type Fields } from './xml.ts';

// Each transaction has the fields that Braintree's SDKs expose, most of them the same for all of the sandbox's.

const MERCHANT_ACCOUNT = 'sandbox_account';

const none = (...names: string[]): Fields => Object.fromEntries(names.map((name) => [name, null]));
const empty = (...names: string[]): Fields => Object.fromEntries(names.map((name) => [name, []]));

const address = none(
  ...['id', 'first-name', 'last-name', 'company', 'street-address', 'extended-address', 'locality'],
  ...['region', 'postal-code', 'country-name', 'country-code-alpha2', 'country-code-alpha3'],
  ...['country-code-numeric', 'phone-number', 'international-phone'],
);

const card = element('credit-card', {
  ...{ token: null, bin: '411111', 'last-4': '1111', 'card-type': 'Visa', 'cardholder-name': null },
  ...{ 'expiration-month': '12', 'expiration-year': '2034', 'customer-location': 'US', debit: 'Unknown' },
  ...{ prepaid: 'Unknown', payroll: 'Unknown', commercial: 'Unknown', healthcare: 'Unknown' },
  ...{ 'durbin-regulated': 'Unknown', 'issuing-bank': 'Unknown', 'country-of-issuance': 'Unknown' },
  ...{ 'product-id': 'Unknown', business: 'Unknown', consumer: 'Unknown', corporate: 'Unknown' },
  ...{ purchase: 'Unknown', 'prepaid-reloadable': 'Unknown', 'image-url': null, 'account-type': null },
  ...{ 'unique-number-identifier': null, 'payment-account-reference': null, 'venmo-sdk': false },
});

const bankAccount = element('us-bank-account', {
  ...{ token: null, 'routing-number': '021000021', 'last-4': '0000', 'account-type': 'checking' },
  ...{ 'account-holder-name': 'Dan Schulman', 'bank-name': 'FIRST BANK', 'ach-mandate': null },
});

const usual = elements({
  customer: none('id', 'first-name', 'last-name', 'company', 'email', 'website', 'phone', 'fax'),
  ...{ billing: address, shipping: address, 'custom-fields': '', recurring: false, 'tax-exempt': false },
  ...none(
    ...['sub-merchant-account-id', 'master-merchant-account-id', 'authorized-transaction-id', 'channel'],
    ...[
      'settlement-batch-id',
      'avs-error-response-code',
      'gateway-rejection-reason',
      'plan-id',
      'tax-amount',
    ],
    ...['voice-referral-number', 'purchase-order-number', 'subscription-id', 'service-fee-amount'],
    ...['escrow-status', 'three-d-secure-info', 'retried-transaction-id', 'retrieval-reference-number'],
    ...[
      'network-response-code',
      'network-response-text',
      'network-transaction-id',
      'sca-exemption-requested',
    ],
    ...['shipping-amount', 'shipping-tax-amount', 'discount-amount', 'surcharge-amount', 'debit-network'],
    ...[
      'ships-from-postal-code',
      'terminal-identification-number',
      'merchant-advice-code',
      'ach-return-code',
    ],
    ...['merchant-advice-code-text', 'installment-count', 'facilitated-details', 'facilitator-details'],
  ),
  ...{
    'avs-postal-code-response-code': 'I',
    'avs-street-address-response-code': 'I',
    'cvv-response-code': 'I',
  },
  subscription: none('billing-period-end-date', 'billing-period-start-date'),
  descriptor: none('name', 'phone', 'url'),
  'disbursement-details': none(
    ...['disbursement-date', 'settlement-amount', 'settlement-currency-iso-code', 'success', 'funds-held'],
    ...['settlement-currency-exchange-rate', 'settlement-base-currency-exchange-rate'],
  ),
  ...empty('add-ons', 'discounts', 'authorization-adjustments', 'retry-ids', 'installments', 'packages'),
  ...{ 'processor-settlement-response-code': '', 'processor-settlement-response-text': '', retried: false },
});

/** What a transaction says of the answer of the customer's bank. */
export interface BankAnswer {
  code: string;
  text: string;
  type: 'approved' | 'soft_declined' | 'hard_declined';
  /** The raw answer, where it is another one. */
  additional?: string;
}

const APPROVED: BankAnswer = { code: '1000', text: 'Approved', type: 'approved' };
const CREDITED: BankAnswer = { code: '1002', text: 'Processed', type: 'approved' };
const DECLINED: BankAnswer = { code: '2046', text: 'Declined', type: 'soft_declined' };

/** How the banks answer to refunds of some amounts, as in Braintree's own sandbox. */
export const BANK_ANSWERS: Readonly<Record<string, BankAnswer>> = {
  '2046.00': {
    ...{ code: '1005', text: 'Auth Declined but Settlement Captured', type: 'approved' },
    additional: '2046 : Declined',
  },
  '2004.00': {
    ...{ code: '2004', text: 'Expired Card', type: 'hard_declined' },
    additional: '2004 : Expired Card',
  },
};

export function saleXml(ledger: Ledger, sale: Payment): string {
  const isInParts = sale.status === 'settled_in_parts';
  const status = { disputed: 'settled', settled_in_parts: 'settlement_pending' }[sale.status] ?? sale.status;
  const credits = ledger.refundsOf(sale).filter(({ kind }) => kind !== 'void');
  return transactionXml({ ...sale, status }, sale.paymentMethod, {
    type: 'sale',
    ...{ 'merchant-account-id': MERCHANT_ACCOUNT, 'acquirer-reference-number': null },
    'order-id': saleOrderId(sale),
    ...{ 'refunded-transaction-id': null, 'refund-ids': credits.map(({ id }) => id) },
    'partial-settlement-transaction-ids': isInParts ? [`${sale.id}-part`] : [],
    disputes: disputeStatus(sale) === null ? [] : [{ dispute: disputeFields(sale) }],
    ...answerFields(status === 'processor_declined' ? DECLINED : APPROVED),
  });
}

export function creditXml(ledger: Ledger, credit: Refund): string {
  const sale = ledger.knownPayment(credit, credit.paymentId);
  return transactionXml(credit, sale?.paymentMethod ?? 'card', {
    type: 'credit',
    'merchant-account-id': credit.merchantAccountId ?? MERCHANT_ACCOUNT,
    'acquirer-reference-number': credit.bankReference ?? null,
    'order-id': credit.reference,
    ...{ 'refunded-transaction-id': credit.paymentId, 'refund-ids': [], disputes: [] },
    ...{ 'partial-settlement-transaction-ids': [], 'refunded-installments': [] },
    ...answerFields(answerTo(credit)),
  });
}

function answerTo({ kind, status, amount, currency }: Refund): BankAnswer {
  if (kind === 'decline') return BANK_ANSWERS['2004.00'] ?? DECLINED;
  if (status === 'processor_declined') return DECLINED;
  return BANK_ANSWERS[toDecimal(amount, currency)] ?? CREDITED;
}

function answerFields({ code, text, type, additional }: BankAnswer): Fields {
  const response = { 'processor-response-code': code, 'processor-response-text': text };
  return {
    ...response,
    'processor-response-type': type,
    'additional-processor-response': additional ?? null,
  };
}

/** Sales made here all carry an order id, so that its copying to refunds can be seen. */
export function saleOrderId({ id, orderId }: Payment): string {
  return orderId ?? `order-${id}`;
}

function transactionXml(transaction: Payment | Refund, method: string, more: Fields): string {
  const { id, status, currency, createdAt } = transaction;
  const [amount, time] = [toDecimal(transaction.amount, currency), new Date(createdAt)];
  const isBank = method === 'us_bank_account';
  const fields = elements({
    ...{ id, status, 'currency-iso-code': currency.toUpperCase(), amount },
    ...{ 'global-id': Buffer.from(`transaction_${id}`).toString('base64url') },
    ...{ 'created-at': time, 'updated-at': time, 'processor-authorization-code': 'SANDBX' },
    'status-history': [
      { 'status-event': { timestamp: time, status, amount, user: 'sandbox', 'transaction-source': 'api' } },
    ],
    ...more,
    'payment-instrument-type': isBank ? 'us_bank_account' : 'credit_card',
  });
  return `<transaction>${fields}${isBank ? bankAccount : card}${usual}</transaction>`;
}

const open: DisputeState = { isChargeback: true, isClosed: false };
const lost: DisputeState = { isChargeback: true, isClosed: true };

export const disputeStates: Readonly<Record<string, DisputeState>> = {
  ...{ open, disputed: open, under_review: open },
  ...{ accepted: lost, auto_accepted: lost, expired: lost, lost },
  won: { isChargeback: false, isClosed: true },
};

/** The state of the sale's dispute; null when it was never disputed. */
export function disputeStatus({ disputeStatus: stored, status }: Payment): string | null {
  return stored ?? (status === 'disputed' ? 'open' : null);
}

const DAY_MS = 86_400_000;

function disputeFields(sale: Payment): Fields {
  const status = disputeStatus(sale) ?? 'open';
  const amount = toDecimal(sale.amount, sale.currency);
  const on = (time: number) => new Date(time).toISOString().slice(0, 10);
  const [received, replyBy] = [on(sale.createdAt), on(sale.createdAt + 20 * DAY_MS)];
  return {
    ...{ id: `dispute_${sale.id}`, amount, 'amount-disputed': amount },
    'amount-won': status === 'won' ? amount : toDecimal(0, sale.currency),
    ...{ 'currency-iso-code': sale.currency.toUpperCase(), kind: 'chargeback', status, reason: 'fraud' },
    ...{ 'received-date': received, 'reply-by-date': replyBy, 'date-opened': received },
    'date-won': status === 'won' ? replyBy : null,
    ...{ 'case-number': 'CB0001', 'reason-code': '83', 'merchant-account-id': MERCHANT_ACCOUNT },
    ...none('reason-description', 'reference-number', 'processor-comments', 'original-dispute-id'),
    ...{ 'chargeback-protection-level': 'not_protected', 'pre-dispute-program': 'none', evidence: [] },
    transaction: { id: sale.id, amount, 'order-id': saleOrderId(sale) },
  };
}

/** The dispute of a sale, as notifications show it. */
export function disputeXml(sale: Payment): string {
  return element('dispute', disputeFields(sale));
}
