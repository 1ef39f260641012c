import { parse } from 'bowser';
import { currencies } from '#shared/money/money.ts';
import { displayNameOf, processorNames } from '#shared/processors/registry.ts';
import type { InitiatedBy, RefundReason } from '#shared/refund-request/reasons.ts';

/** Values with their words, in display order. */
export type Choices = readonly (readonly [value: string, words: string])[];

/** The labels of refund reasons. */
export const reasonWords: Record<RefundReason, string> = {
  product_not_received: 'Product not received',
  product_defective: 'Product defective',
  wrong_product: 'Wrong product',
  duplicate_charge: 'Charged twice',
  subscription_cancelled: 'Subscription cancelled',
  other: 'Other',
};

/** The reasons to choose from. */
export const reasonChoices = choicesOf(reasonWords);

/** Why refunds fail, by failure code. */
const failureWords: Readonly<Record<string, string>> = {
  already_refunded: 'Already refunded',
  amount_too_large: 'Exceeds what is left of the payment',
  charge_disputed: 'Charged back',
  charge_for_pending_refund_disputed: 'Disputed by the customer',
  currency_mismatch: 'Another currency than the payment',
  expired_or_canceled_card: 'Card expired or cancelled',
  insufficient_funds: 'Not enough funds in the account',
  lost_or_stolen_card: 'Card lost or stolen',
  processor_unavailable: 'Processor unavailable for too long',
  resolved_by_person: 'Resolved as failed by an operator',
  reversed: 'Reversed by the bank',
  transaction_not_found: 'Payment not found',
};

/** The failures to filter by. */
export const failureChoices = choicesOf(failureWords);

/** A failure in words; the processor's own code where there are none. */
export function failureWord(code: string | null): string {
  if (code === null) return 'No reason given';
  return failureWords[code] ?? capitalized(code.replaceAll('_', ' '));
}

/** How a refund was requested, in words. */
export const initiatorWords: Record<InitiatedBy, string> = {
  api: 'API',
  dashboard: 'Dashboard',
  mcp: 'Agent',
};

/** How a refund was requested, and by whom; null where that is unknown. */
export function requesterWords(initiatedBy: InitiatedBy, who: string | null): string {
  return who === null ? initiatorWords[initiatedBy] : `${initiatorWords[initiatedBy]}, ${who}`;
}

/** The ways to request a refund, as choices of a filter. */
export const initiatorChoices = choicesOf(initiatorWords);

export const processorChoices: Choices = processorNames.map((name) => [name, displayNameOf(name)]);

/** The currencies to choose from. */
export const currencyChoices: Choices = currencies.map((code) => [code, code.toUpperCase()]);

function choicesOf(words: Readonly<Record<string, string>>): Choices {
  return Object.entries(words);
}

/** A browser's display name from its user agent, such as `Safari on iOS`; null for an unknown one. */
export function browserWord(userAgent: string): string | null {
  if (userAgent === '') return null;
  const { browser, os } = parse(userAgent);
  const known = [browser.name, os.name].filter((name) => name !== undefined && name !== '');
  return known.length === 0 ? null : known.join(' on ');
}

/** Of a payment that was charged back. */
export const disputedWords = 'The payment is disputed, so a refund would pay the customer twice.';

/** A message as a sentence: those of the API begin with a small letter and end without a full stop. */
export function asSentence(message: string): string {
  return capitalized(message.endsWith('.') ? message : `${message}.`);
}

/** A text with a capital letter at the start, unless that is a place such as `it.started:`, which keeps its spelling. */
export function capitalized(text: string): string {
  if (/^\S+: /.test(text)) return text;
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
