import { parse } from 'bowser';
import { currencies } from '#shared/money/money.ts';
import { processorKinds, processorNames } from '#shared/processors/registry.ts';
import type { InitiatedBy, RefundReason } from '#shared/refunds/model/reasons.ts';
import type { Choices } from './form.tsx';

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

/** How a refund was requested, in words. */
export const initiatorWords: Record<InitiatedBy, string> = {
  api: 'API',
  dashboard: 'Dashboard',
  mcp: 'Agent',
};

/** The ways to request a refund, as choices of a filter. */
export const initiatorChoices = choicesOf(initiatorWords);

/** The display name of a processor. */
export function processorWord(name: string): string {
  return processorKinds[name]?.displayName ?? name;
}

/** The processors to choose from. */
export const processorChoices: Choices = processorNames.map((name) => [name, processorWord(name)]);

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
