import type { CallAnswer, CallOptions, ListingPage, Processor, ReadResult } from './processor.ts';

/** The time limit of one call to an adapter, over all of its requests. */
export class Deadline {
  readonly #endsAt: number;

  constructor({ timeoutMs, since = performance.now() }: CallOptions) {
    this.#endsAt = since + timeoutMs;
  }

  /**
   * @returns whole milliseconds.
   * @throws DeadlineExceededError when none are left.
   */
  remainingMs(): number {
    const remainingMs = Math.floor(this.#endsAt - performance.now());
    if (remainingMs <= 0) throw new DeadlineExceededError();
    return remainingMs;
  }

  /**
   * Waits for work until the deadline.
   * @param options.abandon called at the deadline, to stop the work.
   * @param options.leaveMs time before the deadline that is kept for the next request.
   * @throws DeadlineExceededError at the deadline.
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
      // Promise.race also handles the loser, so a late rejection does not end the process.
      return await Promise.race([work(), expiry]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The processor did not answer before the deadline. */
export class DeadlineExceededError extends Error {
  override readonly name = 'DeadlineExceededError';

  constructor() {
    super('The processor did not answer in time.');
  }
}

/** The calls over the network that answer for a payment, a refund or an ability. */
export type Call = Exclude<
  keyof Processor,
  'ownAccountId' | 'hasWebhookSecret' | 'verifyWebhook' | 'answerChallenge'
>;

/** Wraps a call: makes it, or answers in its place. */
type Around = <Answer extends CallAnswer>(call: () => Promise<Answer>, operation: Call) => Promise<Answer>;

/** The same processor with `around` applied to every such call. */
export function aroundCalls(processor: Processor, around: Around): Processor {
  const page =
    (read: () => Promise<ReadResult<ListingPage>>) => async (): Promise<ReadResult<ListingPage>> => {
      const answer = await around(read, 'listRefunds');
      // A page reads the next one, which has to be wrapped as well.
      if (answer.kind !== 'found' || answer.value.next === null) return answer;
      const { next } = answer.value;
      return { kind: 'found', value: { ...answer.value, next: (options) => page(() => next(options))() } };
    };
  return {
    getPayment: (...call) => around(() => processor.getPayment(...call), 'getPayment'),
    createRefund: (...call) => around(() => processor.createRefund(...call), 'createRefund'),
    findRefund: (...call) => around(() => processor.findRefund(...call), 'findRefund'),
    getRefund: (...call) => around(() => processor.getRefund(...call), 'getRefund'),
    listRefunds: (...call) => page(() => processor.listRefunds(...call))(),
    cancelRefund: (...call) => around(() => processor.cancelRefund(...call), 'cancelRefund'),
    probe: (...call) => around(() => processor.probe(...call), 'probe'),
    ownAccountId: (options) => processor.ownAccountId(options),
    hasWebhookSecret: processor.hasWebhookSecret,
    verifyWebhook: (request) => processor.verifyWebhook(request),
    answerChallenge: (challenge) => processor.answerChallenge(challenge),
  };
}

/** A shorter secret may be a common word, which would be masked everywhere. */
const leastLength = 8;

/**
 * The same processor, with its account's secrets masked in the answer to every call: an error may repeat the credentials of the
 * request, and answers are stored and logged.
 * @param secrets in every form in which they are sent.
 */
export function maskSecrets(processor: Processor, secrets: readonly string[]): Processor {
  const hidden = secrets.filter(({ length }) => length >= leastLength);
  return aroundCalls(processor, async (call) => maskIn(await call(), hidden));
}

/** Answers consist of objects, arrays, strings, numbers, dates and functions. */
function maskIn<T>(part: T, secrets: readonly string[]): T {
  if (typeof part === 'string') return secrets.reduce<string>(maskSecret, part) as T;
  if (Array.isArray(part)) return part.map((item) => maskIn(item, secrets)) as T;
  if (typeof part !== 'object' || part === null || part instanceof Date) return part;
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, maskIn(value, secrets)])) as T;
}

/** The words of a failure may have been cut off within the secret. */
function maskSecret(text: string, secret: string): string {
  const masked = text.replaceAll(secret, '[secret]');
  for (let length = secret.length - 1; masked.endsWith('…') && length >= leastLength; length -= 1) {
    const start = `${secret.slice(0, length)}…`;
    if (masked.endsWith(start)) return `${masked.slice(0, -start.length)}[secret]…`;
  }
  return masked;
}
