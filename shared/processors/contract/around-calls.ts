import type { CallAnswer, Processor, ReadResult, RefundPage } from './processor.ts';

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
