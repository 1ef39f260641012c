import type { CallAnswer, CallOptions, Processor, ReadResult, RefundPage } from './processor.ts';

/** The total time of one call to an adapter, however many requests it takes. */
export class Deadline {
  readonly #endsAt: number;

  constructor({ timeoutMs, since = performance.now() }: CallOptions) {
    this.#endsAt = since + timeoutMs;
  }

  /**
   * Whole milliseconds that are left.
   * @throws DeadlineExceededError when there are none.
   */
  remainingMs(): number {
    const remainingMs = Math.floor(this.#endsAt - performance.now());
    if (remainingMs <= 0) throw new DeadlineExceededError();
    return remainingMs;
  }

  /**
   * Does not wait for work beyond the deadline.
   * @param options.abandon is called when time is up, to stop what can be stopped.
   * @param options.leaveMs is kept back for what has to follow.
   * @throws DeadlineExceededError when time is up.
   */
  async guard<T>(
    work: () => Promise<T>,
    { abandon, leaveMs = 0 }: { abandon: () => void; leaveMs?: number },
  ): Promise<T> {
    const waitMs = this.remainingMs() - leaveMs;
    if (waitMs <= 0) throw new DeadlineExceededError();
    let timer: NodeJS.Timeout | undefined;
    const expiry = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        reject(new DeadlineExceededError());
        abandon();
      }, waitMs);
    });
    try {
      // The race keeps listening to the loser, so that an answer after the deadline is dropped and crashes nothing.
      return await Promise.race([work(), expiry]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Time was up before the processor had answered. */
export class DeadlineExceededError extends Error {
  override readonly name = 'DeadlineExceededError';

  constructor() {
    super('The processor did not answer in time.');
  }
}

/** Does something around a call: makes it, or answers in its place. */
type Around = <Answer extends CallAnswer>(call: () => Promise<Answer>) => Promise<Answer>;

/** The same processor with `around` around everything that asks it something over the wire. */
export function aroundCalls(processor: Processor, around: Around): Processor {
  const page = (read: () => Promise<ReadResult<RefundPage>>) => async (): Promise<ReadResult<RefundPage>> => {
    const answer = await around(read);
    // A page of a list brings the way to the next one.
    if (answer.kind !== 'found' || answer.value.next === null) return answer;
    const { next } = answer.value;
    return { kind: 'found', value: { ...answer.value, next: (options) => page(() => next(options))() } };
  };
  return {
    getTransaction: (...call) => around(() => processor.getTransaction(...call)),
    createRefund: (...call) => around(() => processor.createRefund(...call)),
    findRefund: (...call) => around(() => processor.findRefund(...call)),
    getRefund: (...call) => around(() => processor.getRefund(...call)),
    listRefunds: (...call) => page(() => processor.listRefunds(...call))(),
    cancelRefund: (...call) => around(() => processor.cancelRefund(...call)),
    verifyWebhook: (request) => processor.verifyWebhook(request),
    // Proves to the processor whose account it is, with what the processor knows.
    answerChallenge: (challenge) => processor.answerChallenge(challenge),
  };
}

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
