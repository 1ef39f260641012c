import { redact } from '../redact.ts';
import type { ProcessorFailure } from './processor.ts';

const longest = { code: 100, message: 500 };

/**
 * A failure in the processor's code and words. Both come from outside and go on record, so card numbers and secrets
 * are masked in them and the length is limited.
 */
export function processorFailure(code: string, message: string): ProcessorFailure {
  return { code: presentable(code, longest.code), message: presentable(message, longest.message) };
}

function presentable(text: string, length: number): string {
  const words = redact(text).replace(/\s+/g, ' ').trim();
  return words.length > length ? `${words.slice(0, length - 1)}…` : words;
}
