import { redact } from '../../platform/redact.ts';
import type { ProcessorFailure } from './processor.ts';

const longest = { code: 100, message: 500 };

/**
 * A failure in the processor's code and words. Both come from outside and go on record, so card numbers and secrets
 * are masked in them, what cannot be printed is left out, and the length is limited.
 */
export function processorFailure(code: string, message: string): ProcessorFailure {
  return { code: presentable(code, longest.code), message: presentable(message, longest.message) };
}

/** @param text whatever its type says: a processor's answer may hold anything in its place. */
function presentable(text: unknown, length: number): string {
  // Cut generously first: nobody reads the rest, and masking takes its time.
  const words = redact(String(text).slice(0, 10 * length))
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  const cut = words.length > length ? `${words.slice(0, length - 1)}…` : words;
  // Half of a surrogate pair, which cutting may leave, is no text to PostgreSQL.
  return cut.replace(/\p{Surrogate}/gu, '\ufffd');
}
