import { aroundCalls } from './around-calls.ts';
import type { Processor } from './processor.ts';

/** A shorter one is a common word, and would be masked where it means nothing. */
const leastLength = 8;

/**
 * The same processor, without its account's secrets in anything that it answers: an error may repeat the credentials
 * that came with the request, and answers go on record and into the log.
 * @param secrets in every form in which they go over the wire.
 */
export function maskSecrets(processor: Processor, secrets: readonly string[]): Processor {
  const hidden = secrets.filter(({ length }) => length >= leastLength);
  return {
    ...aroundCalls(processor, async (call) => maskIn(await call(), hidden)),
    verifyWebhook: async (request) => maskIn(await processor.verifyWebhook(request), hidden),
  };
}

/** Answers are made of objects, lists, texts, numbers, dates and functions. */
function maskIn<T>(part: T, secrets: readonly string[]): T {
  if (typeof part === 'string') {
    return secrets.reduce<string>((text, secret) => text.replaceAll(secret, '[secret]'), part) as T;
  }
  if (Array.isArray(part)) return part.map((item) => maskIn(item, secrets)) as T;
  if (typeof part !== 'object' || part === null || part instanceof Date) return part;
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, maskIn(value, secrets)])) as T;
}
