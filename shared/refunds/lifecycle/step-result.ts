import type {
  ProcessorFailure,
  ProcessorRefund,
  ProcessorRefundState,
  RefundArrival,
  UnavailableCause,
} from '../../processors/contract/processor.ts';
import type { Flag } from '../model/flags.ts';

/** When the next step is due, in milliseconds from now. */
interface Due {
  dueInMs: number;
}

/** What the refund is flagged for from now on; null ends a flag, undefined keeps what stands. */
interface FlagChange<Change extends Flag | null | undefined> {
  flag: Change;
}

/** The processor's own words, or ours about it. */
interface Failed {
  failure: ProcessorFailure;
}

/**
 * What a step has come to. Everything that is stored follows from it, and from the claim, in step-outcome.ts alone.
 */
export type StepResult = ResultOfSend | ResultOfLookup | ResultAtProcessor | ResultOfReview | End;

/** Of the steps `send` and `verify`. */
type ResultOfSend =
  /** The payment was read and stored. */
  | { kind: 'payment_stored' }
  /** The payment was read, and its amount cannot be stored. */
  | ({ kind: 'payment_unstorable' } & Due)
  /** Not at the processor. */
  | ({ kind: 'not_applied'; cause: UnavailableCause } & Failed & FlagChange<Flag | null | undefined> & Due)
  /** The processor refuses the credentials, or this refund to them: not at the processor. */
  | ({ kind: 'credentials_refused' } & FlagChange<Flag> & Due)
  /** The credentials may be those of another account, which cannot tell what an earlier attempt did. */
  | ({ kind: 'payment_missing' } & FlagChange<Flag> & Due)
  /** May be at the processor. */
  | ({ kind: 'perhaps_applied'; isKeySpent: boolean; serverError: boolean } & Failed &
      FlagChange<Flag | undefined> &
      Due)
  /** The processor keeps the attempt for a reviewer, and sends it itself, or never. */
  | ({ kind: 'approval_at_processor'; by: 'attempt.unknown' | 'lookup.inconclusive' } & FlagChange<Flag> &
      Due)
  /** The processor has it, and it is open there, or not what was asked. */
  | ({ kind: 'accepted'; by: Acceptance; found: ProcessorRefund } & FlagChange<Flag | null> & Due);

/** Of the step `look_up`, besides what the processor has. */
type ResultOfLookup =
  /** Not found, which is no proof yet. */
  | ({ kind: 'inconclusive'; conclusiveAt: Date } & Due)
  /**
   * Not found: not at the processor. After a server error it may still be carried out, with the key of the next attempt.
   * `hadNoAccount`: the credentials did not work until now.
   */
  | { kind: 'absent'; hadNoAccount: boolean }
  /** The account may not look it up. */
  | ({ kind: 'lookup_refused' } & FlagChange<Flag> & Due);

/** Of the steps of a refund that the processor has, and of others without an answer. */
type ResultAtProcessor =
  /** Open there. */
  | ({ kind: 'open'; found: ProcessorRefund } & FlagChange<Flag | null> & Due)
  /** The processor does not have it as it should, or refuses to say, or a lookup that finds nothing will not be a proof. */
  | ({
      kind: 'flagged';
      by: 'settlement.flagged' | 'attempt.misconfigured' | 'lookup.inconclusive';
      waitingFor: 'settlement' | 'credentials' | 'unknown_outcome';
    } & FlagChange<Flag> &
      Due)
  /** A lookup or a cancellation without an answer. */
  | ({ kind: 'unanswered'; by: 'lookup.unanswered' | 'cancel.unanswered' } & Failed &
      FlagChange<Flag | undefined> &
      Due)
  /** Its state could not be read. */
  | ({ kind: 'unread'; cause: UnavailableCause } & FlagChange<Flag | undefined> & Due)
  /** Not cancelled, and open there as far as that was read. */
  | ({ kind: 'cancel_refused'; found: Pick<ProcessorRefund, 'waitsFor' | 'dueBy'> } & Failed & Due);

/** Of the step `review`. `isPaymentStale`: what moved at the processor has no reservation here. */
export type ResultOfReview = { isPaymentStale?: boolean } & (
  | { kind: 'unchanged'; dueInMs: number | null }
  /** The processor agrees. @param arrival what is new about how the customer gets the money. */
  | { kind: 'agreed'; arrival: RefundArrival | null }
  | ({ kind: 'differs' } & FlagChange<Flag>)
  /** The money came back. */
  | { kind: 'reversed'; found: ProcessorRefund }
);

type End =
  /** Ended at the processor. `by`: how that was seen of a refund that was not known to be there; null when it was. */
  | { kind: 'settled'; to: EndedState; found: ProcessorRefund; by: Acceptance | null }
  /** Will not be at the processor. `isPaymentStale`: the payment may differ from what is stored. */
  | ({ kind: 'failed'; attempt: 'rejected' | 'unavailable'; isPaymentStale?: boolean } & Failed)
  /** Cancelled before anything was sent. */
  | { kind: 'cancelled_unsent' };

export type Acceptance = 'attempt.accepted' | 'lookup.found';

export type EndedState = Exclude<ProcessorRefundState, 'open'>;

/** The result of one kind. */
export type ResultOf<Kind extends StepResult['kind']> = Extract<StepResult, { kind: Kind }>;
