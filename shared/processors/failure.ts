import type { ProcessorFailure } from './processor.ts';

const longest = 500;
/** 13 to 19 digits, also in groups: what a card number looks like. */
const cardNumber = /(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)/g;
const secretKey = /\b(?:sk|rk|whsec)_\w+/g;

/**
 * A failure in the processor's code and words. The words come from outside and go on record, so card numbers and
 * secret keys are taken out of them and the length is limited.
 */
export function processorFailure(code: string, message: string): ProcessorFailure {
  const words = message
    .replace(secretKey, '[key removed]')
    .replace(cardNumber, '[number removed]')
    .replace(/\s+/g, ' ')
    .trim();
  return { code, message: words.length > longest ? `${words.slice(0, longest - 1)}…` : words };
}
