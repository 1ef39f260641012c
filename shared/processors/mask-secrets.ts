import type { Processor, ReadResult, RefundPage } from './processor.ts';

/** A shorter one is a common word, and would be masked where it means nothing. */
const leastLength = 8;

/**
 * The same processor, without its account's secrets in anything that it answers: an error may repeat the credentials
 * that came with the request, and answers go on record and into the log.
 * @param secrets in every form in which they go over the wire.
 */
export function maskSecrets(processor: Processor, secrets: readonly string[]): Processor {
  const hidden = secrets.filter(({ length }) => length >= leastLength);
  const masked: Masked = async (answer) => maskIn(await answer, hidden);
  return {
    getTransaction: (...call) => masked(processor.getTransaction(...call)),
    createRefund: (...call) => masked(processor.createRefund(...call)),
    findRefund: (...call) => masked(processor.findRefund(...call)),
    getRefund: (...call) => masked(processor.getRefund(...call)),
    listRefunds: async (...call) => maskPage(await masked(processor.listRefunds(...call)), masked),
    cancelRefund: (...call) => masked(processor.cancelRefund(...call)),
    verifyWebhook: (...call) => masked(processor.verifyWebhook(...call)),
    // Proves to the processor whose account it is, with what the processor knows.
    answerChallenge: (challenge) => processor.answerChallenge(challenge),
  };
}

type Masked = <T>(answer: Promise<T>) => Promise<T>;

/** A page of a list brings the way to the next one. */
function maskPage(page: ReadResult<RefundPage>, masked: Masked): ReadResult<RefundPage> {
  if (page.kind !== 'found' || page.value.next === null) return page;
  const { next } = page.value;
  const maskedNext: RefundPage['next'] = async (options) => maskPage(await masked(next(options)), masked);
  return { kind: 'found', value: { ...page.value, next: maskedNext } };
}

/** Answers are made of objects, lists, texts, numbers and dates. */
function maskIn<T>(part: T, secrets: readonly string[]): T {
  if (typeof part === 'string') {
    return secrets.reduce<string>((text, secret) => text.replaceAll(secret, '[secret]'), part) as T;
  }
  if (Array.isArray(part)) return part.map((item) => maskIn(item, secrets)) as T;
  if (typeof part !== 'object' || part === null || part instanceof Date) return part;
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, maskIn(value, secrets)])) as T;
}
