import type { Environment } from '../../platform/environment.ts';

/** A payment as its processor describes it. Amounts are minor units. */
export interface ProcessorTransaction {
  id: string;
  amount: bigint;
  /** Lowercase ISO 4217. */
  currency: string;
  chargedAt: Date;
  /** Every refund the processor knows of for this payment, ours and others'; failed and cancelled ones included. */
  refunds: ProcessorRefund[];
  /** Why the processor refunds nothing of the payment, whatever the amount; null when it does, or does not say. */
  unrefundable: ProcessorFailure | null;
}

/**
 * What a processor's own status means to us. `open` is accepted and not settled; an unknown status is `open`,
 * because a refund must not be called finished on a word nobody understands.
 */
export type ProcessorRefundState = 'open' | 'completed' | 'failed' | 'cancelled';

/** True for a refund whose money has moved or may yet move. */
export function isLive({ state }: Pick<ProcessorRefund, 'state'>): boolean {
  return state === 'open' || state === 'completed';
}

/** A refund as its processor describes it. */
export interface ProcessorRefund {
  id: string;
  amount: bigint;
  /** Lowercase ISO 4217. */
  currency: string;
  state: ProcessorRefundState;
  /** The processor's own word, for people. */
  processorStatus: string;
  /** Our refund's id when we made it (Stripe: metadata, Braintree: order id), else null. */
  refundId: string | null;
  failure: ProcessorFailure | null;
}

/**
 * Why a processor refused or failed something, in its own code and words. Three codes mean the same at every processor:
 * `already_refunded`, `amount_too_large`, and `unsettled` for a payment that can be refunded only later, whose attempt
 * used up its idempotency key.
 */
export interface ProcessorFailure {
  code: string;
  message: string;
}

/** What the adapter needs to send a refund; everything in it is on record before the call. */
export interface RefundSubmission {
  refundId: string;
  transactionId: string;
  amount: bigint;
  currency: string;
  reason: string;
  /** Derived from the refund's id and its key series; the same on every retry. */
  idempotencyKey: string;
}

/**
 * The answer to a submission.
 * - `accepted`: the processor has the refund.
 * - `rejected`: refused for good, nothing moved by this call.
 * - `unavailable`: surely not applied, try again later.
 * - `unknown`: it may have been applied. `replied` tells that the processor did reply, so that nothing is still
 *   running there; look up before anything else.
 * - `misconfigured`: the credentials or the account are refused; nothing moved.
 * - `mismatched`: the processor has a refund whose amount or currency is not what was asked.
 */
export type SubmissionResult =
  | { kind: 'accepted'; refund: ProcessorRefund }
  | { kind: 'rejected'; failure: ProcessorFailure }
  | { kind: 'unavailable'; failure: ProcessorFailure; retryAfterMs: number | null; rateLimited: boolean }
  | { kind: 'unknown'; failure: ProcessorFailure; replied: boolean }
  | { kind: 'misconfigured'; failure: ProcessorFailure }
  | { kind: 'mismatched'; refund: ProcessorRefund; failure: ProcessorFailure };

/** The answer to a read. Reads change nothing, so there is no `unknown`. */
export type ReadResult<T> =
  | { kind: 'found'; value: T }
  | { kind: 'not-found'; failure: ProcessorFailure }
  | { kind: 'unavailable'; failure: ProcessorFailure; retryAfterMs: number | null; rateLimited: boolean }
  | { kind: 'misconfigured'; failure: ProcessorFailure };

/**
 * The answer to a lookup. That the processor does not have the payment at all contradicts that it was refunded, and speaks
 * for other credentials or another mode: it does not prove that nothing moved, as `not-found` does in its time.
 */
export type LookupResult =
  | ReadResult<ProcessorRefund>
  | { kind: 'payment-not-found'; failure: ProcessorFailure };

/** The answer to a cancellation: only `cancelled` is the processor's confirmation. */
export type CancelResult =
  | { kind: 'cancelled'; refund: ProcessorRefund }
  | { kind: 'refused'; failure: ProcessorFailure }
  | { kind: 'unavailable'; failure: ProcessorFailure; retryAfterMs: number | null; rateLimited: boolean }
  | { kind: 'unknown'; failure: ProcessorFailure; replied: boolean }
  | { kind: 'misconfigured'; failure: ProcessorFailure };

/** What a call over the wire may answer. */
export type CallAnswer = ReadResult<unknown> | LookupResult | SubmissionResult | CancelResult;

/** Names a refund at its processor. */
export interface RefundReference {
  /** Our id. */
  refundId: string;
  transactionId: string;
  amount: bigint;
  currency: string;
}

/** A request that claims to come from the processor: the bytes as they arrived, and the headers by lowercase name. */
export interface WebhookRequest {
  body: Buffer;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** What a processor tells by itself. It is a hint: it says what to read again, and nothing in it is believed. */
export interface WebhookEvent {
  /** The processor's own id of the event; a digest of what it signed where it gives none. */
  externalEventId: string;
  /** The processor's own word for the kind of event. */
  type: string;
  /** What the processor signed, as text. */
  payload: string;
  occurredAt: Date;
  /** The environment that it happened in; null where the processor does not say. */
  environment: Environment | null;
  /** Null when it is about no refund. */
  subject: WebhookSubject | null;
}

/** What an event is about. */
export interface WebhookSubject {
  /** Our refund's id as the processor keeps it; null when the refund was made elsewhere, or none is named. */
  refundId: string | null;
  /** The processor's id of the refund; null when only the payment is named. */
  externalRefundId: string | null;
  /** The processor's own word for the state that the refund is in; null when only the payment is named. */
  processorStatus: string | null;
  /** What was refunded of the payment in all, in minor units; null unless only the payment is named. */
  refundedAmount: bigint | null;
  /** Every id by which the payment may be on record. */
  transactionIds: readonly string[];
}

/** The answer to a webhook request; `reason` is for the operator's log, and holds nothing of the request. */
export type WebhookVerdict =
  | { kind: 'verified'; event: WebhookEvent }
  | { kind: 'not-verified'; reason: string };

/** A refund from the list of all that a processor made. */
export interface ListedRefund extends ProcessorRefund {
  /** The processor's ids of its payment: Stripe has two, the charge's and the payment intent's. */
  transactionIds: readonly string[];
}

/** A span of time in which the processor made a refund: from `from` (inclusive) to `to` (exclusive), to the second. */
export interface RefundWindow {
  from: Date;
  to: Date;
}

/** Part of a list of refunds. */
export interface RefundPage {
  refunds: readonly ListedRefund[];
  /** Reads the following page, also again after that has failed; null when the list is complete. */
  next: ((options: CallOptions) => Promise<ReadResult<RefundPage>>) | null;
}

/** Limits one call. */
export interface CallOptions {
  /** Total deadline of the call; the adapter answers by then, whatever the processor does. */
  timeoutMs: number;
  /**
   * When that time began to run, as `performance.now()` tells it; unless given, with the call. A process that was frozen
   * on its way to the call has none left, and sends nothing.
   */
  since?: number;
}

/**
 * One account at one processor. Adapters translate, and nothing else: they keep no state, retry nothing, know no
 * refund lifecycle and never throw for what a processor or a network can do.
 */
export interface Processor {
  /** Reads a payment with its refunds. */
  getTransaction(transactionId: string, options: CallOptions): Promise<ReadResult<ProcessorTransaction>>;
  /** Sends a refund, in exactly one attempt to move money. */
  createRefund(submission: RefundSubmission, options: CallOptions): Promise<SubmissionResult>;
  /** Looks for a refund of ours that may or may not have been applied, by our own id. */
  findRefund(reference: RefundReference, options: CallOptions): Promise<LookupResult>;
  /** Reads a refund by the processor's id. */
  getRefund(
    externalRefundId: string,
    reference: RefundReference,
    options: CallOptions,
  ): Promise<ReadResult<ProcessorRefund>>;
  /**
   * Begins to list every refund that the processor made in a window, whoever asked for it and whatever became of it.
   * Pages may be empty. One that has just been made may be missing yet.
   */
  listRefunds(window: RefundWindow, options: CallOptions): Promise<ReadResult<RefundPage>>;
  /** Asks for an accepted refund to be cancelled. */
  cancelRefund(
    externalRefundId: string,
    reference: RefundReference,
    options: CallOptions,
  ): Promise<CancelResult>;
  /**
   * Checks that a request was signed by the processor for this account, lately where the processor signs the time as
   * well, and says what it is about. Whatever is malformed is not verified; it never throws for what a request can hold.
   */
  verifyWebhook(request: WebhookRequest): Promise<WebhookVerdict>;
  /** What proves to the processor that its webhooks arrive here; null for a challenge that is none of its own. */
  answerChallenge(challenge: string): string | null;
}

/** A credential that a person supplies, as a form asks for it. */
export interface CredentialField {
  /** Its name in what `parseCredentials` takes. */
  name: string;
  label: string;
  /** `address`: text that is nobody's secret; `choice`: true or false. */
  type: 'secret' | 'address' | 'choice';
  isRequired: boolean;
  /** Where to find it, or what it is for. */
  hint: string;
}

/** A refund that its processor has. */
export interface AcceptedRefund {
  externalRefundId: string;
  transactionId: string;
  /** The processor's own word for its state, as last read; null before that. */
  processorStatus: string | null;
}

/** What there is to know of a kind of processor, before any account of it exists. */
export interface ProcessorKind<Credentials> {
  name: string;
  /** As the processor writes itself. */
  displayName: string;
  /** Everything that `parseCredentials` takes, in the order in which people should be asked for it. */
  credentialFields: readonly CredentialField[];
  /** True when a transaction id can only be this processor's. */
  recognizes(transactionId: string): boolean;
  /** False for an id that the processor could never have; such an id is not sent over the wire. */
  couldBe(transactionId: string): boolean;
  /**
   * Reads credentials that a person supplied, and checks that they belong to the environment.
   * Throws `InvalidCredentialsError` with a message that names the field and never the value.
   */
  parseCredentials(input: unknown, environment: Environment): Credentials;
  /** Null when the processor can express the amount, else the reason why not, for the caller. */
  amountProblem(amount: bigint, currency: string): string | null;
  /** False when the processor surely does not cancel an accepted refund any more, by the state in which it last had it. */
  mayTakeBack(refund: AcceptedRefund): boolean;
  /**
   * How long after the end of an attempt a lookup that finds nothing is proof that nothing was applied.
   */
  settleDelayMs: number;
  /**
   * How its webhooks arrive: the media type of their bodies, and the query parameter in which it sends a challenge to
   * a new address; null when it sends none. `setUp` tells people what to choose at the processor.
   */
  webhooks: { mediaType: string; challengeParameter: string | null; setUp: string };
  /** What of the credentials must never be seen, in every form in which it goes over the wire. */
  secretsOf(credentials: Credentials): readonly string[];
  connect(credentials: Credentials): Processor;
}

/** Credentials that cannot be used; the message is for the person who supplied them. */
export class InvalidCredentialsError extends Error {
  override readonly name = 'InvalidCredentialsError';
}
