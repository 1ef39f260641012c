import type {
  CancelResult,
  LookupResult,
  Processor,
  ReadResult,
  SubmissionResult,
} from '../processors/processor.ts';

/** A processor whose answers are watched for what they say of the account's credentials. */
export interface WatchedProcessor {
  processor: Processor;
  /** True when some answer shows that the credentials are accepted, and none says that they are refused. */
  hasAccepted(): boolean;
}

type Kind = (ReadResult<unknown> | LookupResult | SubmissionResult | CancelResult)['kind'];

/** What only the processor itself can answer; a refusal may also come from the adapter, which has not called it then. */
const accepting: ReadonlySet<Kind> = new Set(['found', 'accepted', 'mismatched', 'cancelled']);

/** The same processor for a few calls, that notes whether it accepts the credentials. */
export function watchCredentials(processor: Processor): WatchedProcessor {
  const kinds = new Set<Kind>();
  const watched = async <Answer extends { kind: Kind }>(answering: Promise<Answer>): Promise<Answer> => {
    const answer = await answering;
    kinds.add(answer.kind);
    return answer;
  };
  return {
    processor: {
      getTransaction: (...call) => watched(processor.getTransaction(...call)),
      createRefund: (...call) => watched(processor.createRefund(...call)),
      findRefund: (...call) => watched(processor.findRefund(...call)),
      getRefund: (...call) => watched(processor.getRefund(...call)),
      listRefunds: (...call) => watched(processor.listRefunds(...call)),
      cancelRefund: (...call) => watched(processor.cancelRefund(...call)),
      verifyWebhook: (request) => processor.verifyWebhook(request),
      answerChallenge: (challenge) => processor.answerChallenge(challenge),
    },
    hasAccepted: () => !kinds.has('misconfigured') && [...kinds].some((kind) => accepting.has(kind)),
  };
}
