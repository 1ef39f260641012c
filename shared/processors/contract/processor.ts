import type { Environment } from '../../platform/environment.ts';
import { isId } from '../../platform/ids.ts';
import type { ProxySettings } from '../../platform/outgoing/proxy.ts';
import { isRequestDigest } from '../../platform/secrets/request-digest.ts';
import type { RefundOption, RefundOptions } from './refund-options.ts';

/** A payment at its processor. Amounts are in minor units. */
export interface ProcessorPayment {
  /**
   * The ids that every reading of the payment tells, in the same order, and after them the id that it was asked for where that is another
   * name of it, such as that of an invoice, with those in between.
   */
  transactionIds: readonly string[];
  amount: bigint;
  /** Lowercase ISO 4217. */
  currency: string;
  chargedAt: Date;
  /** All of its refunds, also those made elsewhere, failed or cancelled. */
  refunds: ProcessorRefund[];
  /** Why the payment cannot be refunded at all; null when it can, or the processor does not say. */
  unrefundable: ProcessorFailure | null;
  /** True when the payment was transferred to a connected account as it was made, which a refund can take back. */
  hasTransfer: boolean;
  /** The connected account that has the transfer; null without one, and where the processor does not say. */
  transferDestination: string | null;
  /** True when the platform took a fee of the payment, which a refund can give back. */
  applicationFee: boolean;
  /**
   * Whether the credentials may read the payment's disputes, where they were read apart: when refused, the processor alone decides about
   * a charged back payment.
   */
  disputes?: ProbeResult;
}

/**
 * The meaning of a processor's status. `open`: accepted and not settled. An unknown status counts as `open`, because a refund
 * must not end on a status that is not understood.
 */
export type ProcessorRefundState = 'open' | 'completed' | 'failed' | 'cancelled';

/** True for a refund that has moved money or still may. */
export function isLive({ state }: Pick<ProcessorRefund, 'state'>): boolean {
  return state === 'open' || state === 'completed';
}

/** A refund at its processor. */
export interface ProcessorRefund extends KeptName {
  id: string;
  amount: bigint;
  /** Lowercase ISO 4217. */
  currency: string;
  state: ProcessorRefundState;
  /** The processor's own status, for display. */
  processorStatus: string;
  failure: ProcessorFailure | null;
  /** What an open refund waits for at the processor; left out while it is on its way, and where the processor does not say. */
  waitsFor?: 'customer_action' | 'insufficient_balance' | 'payment_unsettled';
  /** After this time an open refund is overdue, and what the customer was asked for has expired; left out where nothing says what is usual. */
  dueBy?: Date;
  /** Left out while the processor does not know it. */
  arrival?: RefundArrival;
}

/** How the customer gets the money. */
export interface RefundArrival {
  /**
   * - `credit`: an amount is credited to the customer.
   * - `reversal`: the charge itself disappears from the customer's statement, and no credit follows.
   * Null where the processor does not say.
   */
  kind: 'credit' | 'reversal' | null;
  /** What the customer's bank knows the refund by. Processors learn it days after it was sent; null until then. */
  reference: string | null;
  /** As the processor calls the reference; null where it does not say. */
  referenceType: string | null;
}

/** What a refund of ours is recognized by at its processor. */
export interface RefundName {
  /** The id of our refund. */
  refundId: string;
  /** The digest of the request's idempotency key (platform/secrets/request-digest.ts); null for a request without one. */
  requestDigest: string | null;
}

/** The name that a processor keeps with a refund (Stripe: metadata, Braintree: order id). */
export interface KeptName {
  /** Null when the refund was made elsewhere. */
  refundId: string | null;
  requestDigest: string | null;
  /** The organization that made it, of this installation or another one. Left out where the processor keeps none. */
  organizationId?: string;
}

/** Where a processor keeps the name in the metadata of a refund. */
export const nameKeys: readonly string[] = ['refund_id', 'request_digest', 'refund_organization'];

/** Reads a kept name; others may have written anything there. */
export function keptName(
  refundId: string | undefined,
  requestDigest: string | undefined,
  organizationId: string | undefined,
): KeptName {
  if (refundId === undefined || !isId('ref', refundId)) return { refundId: null, requestDigest: null };
  const isKept = requestDigest !== undefined && isRequestDigest(requestDigest);
  return {
    ...{ refundId, requestDigest: isKept ? requestDigest : null },
    ...(organizationId !== undefined && isId('org', organizationId) && { organizationId }),
  };
}

/**
 * True for a refund that was made for the same request. Its id may be another one: a request that is repeated after a restore
 * from a backup gets a new id.
 */
export function isNamed({ refundId, requestDigest }: KeptName, name: RefundName): boolean {
  return refundId === name.refundId || (requestDigest !== null && requestDigest === name.requestDigest);
}

/**
 * Why a processor refused or failed something, with its own code and message. Three codes are common to all processors:
 * `already_refunded`, `amount_too_large` and `charge_disputed`, for a payment that was charged back.
 */
export interface ProcessorFailure {
  code: string;
  message: string;
}

/** A refund to send. All of it is stored before the call. */
export interface RefundSubmission extends RefundName {
  organizationId: string;
  transactionId: string;
  amount: bigint;
  currency: string;
  reason: string;
  /** What the organization has chosen of the refund's metadata, the same on every attempt; null unless the processor keeps metadata. */
  metadata: Readonly<Record<string, string>> | null;
  /** The same on every attempt; empty unless the processor has options. */
  options: RefundOptions;
  /**
   * Derived from the request's digest, or from the refund's id where there is none, and the attempt's idempotencyKeyVersion: the
   * same on a retry unless that version has changed.
   */
  idempotencyKey: string;
}

/**
 * Why a call had no effect and may be repeated later.
 * - `unreachable`: the processor could not be reached, or failed.
 * - `unreadable`: it has answered, in a way that is not as documented. Unlike an outage, this lasts until the service can read it.
 * - `rate_limited`: the account makes too many calls of this kind.
 * - `payment_busy`: something else works on this payment.
 * - `payment_unsettled`: the payment can be refunded only later: it settles, expires or is declined in time.
 * - `insufficient_balance`: the account's balance at the processor does not cover the refund.
 *
 * A processor has bound its answer to the idempotency key of an attempt that it refused for one of the last two.
 */
export type UnavailableCause =
  | 'unreachable'
  | 'unreadable'
  | 'rate_limited'
  | 'payment_busy'
  | 'payment_unsettled'
  | 'insufficient_balance';

/** Not applied; may be retried. */
export interface Unavailable {
  kind: 'unavailable';
  cause: UnavailableCause;
  failure: ProcessorFailure;
  retryAfterMs: number | null;
}

/** May have been applied; has to be looked up. */
export interface Unknown {
  kind: 'unknown';
  failure: ProcessorFailure;
  /** True when the processor refuses this idempotency key because an earlier request used it. The next attempt uses a new key. */
  keyRefused?: true;
  /** True when the processor answered with a server error and may carry the request out later, whatever lookups find until then. */
  serverError?: true;
  /**
   * True when the processor keeps the request for a reviewer of the organization, and carries it out itself once that person approves it.
   * It is never sent again, however long nothing is found.
   */
  awaitsApproval?: true;
}

/**
 * The processor refuses what the credentials ask for; nothing changed. `scope` says for what:
 * - `credentials`: for every call.
 * - `ability`: for every call of this kind; `ability` names it where it is not that of the call.
 * - `object`: for this payment or refund alone.
 */
export interface Misconfigured {
  kind: 'misconfigured';
  failure: ProcessorFailure;
  scope: 'credentials' | 'ability' | 'object';
  /** True when a connected account is not connected to the account of the credentials, so that these are of no use for it. */
  isUnconnected?: true;
  ability?: Ability;
  /** The processor's own name of the permission that is missing, such as `rak_charge_read`; left out where it names none. */
  permission?: string;
}

/** What an account's credentials may or may not do. `list`: read refunds. `webhooks`: verify what the processor sends. */
export const abilities = ['readPayments', 'disputes', 'list', 'refund', 'cancel', 'webhooks'] as const;

export type Ability = (typeof abilities)[number];

/**
 * The answer to a submission.
 * - `accepted`: the processor has the refund.
 * - `rejected`: refused for good; this call moved nothing. `missing`: because the account does not have the payment.
 * - `mismatched`: the processor has a refund with another amount or currency than requested.
 */
export type SubmissionResult =
  | { kind: 'accepted'; refund: ProcessorRefund }
  | { kind: 'rejected'; failure: ProcessorFailure; missing?: boolean }
  | { kind: 'mismatched'; refund: ProcessorRefund; failure: ProcessorFailure }
  | Unavailable
  | Unknown
  | Misconfigured;

/** The answer to a read. Reads change nothing, so there is no `unknown`. */
export type ReadResult<T> =
  | { kind: 'found'; value: T }
  | { kind: 'not-found'; failure: ProcessorFailure }
  | Unavailable
  | Misconfigured;

/** The id stands for several payments, so that nothing is read. The message lists their ids. */
export interface Ambiguous {
  kind: 'ambiguous';
  failure: ProcessorFailure;
  /** Of each payment one id, by which it can be read; at most ten. */
  transactionIds: readonly string[];
}

/** The answer to the reading of a payment. */
export type PaymentReadResult = ReadResult<ProcessorPayment> | Ambiguous;

/**
 * The answer to a lookup. `payment-not-found` hints at credentials of another account or mode. Unlike `not-found`, it never
 * proves that nothing moved.
 */
export type LookupResult =
  | ReadResult<ProcessorRefund>
  | { kind: 'payment-not-found'; failure: ProcessorFailure };

/** The answer to a cancellation: only `cancelled` is the processor's confirmation. */
export type CancelResult =
  | { kind: 'cancelled'; refund: ProcessorRefund }
  | { kind: 'refused'; failure: ProcessorFailure }
  | Unavailable
  | Unknown
  | Misconfigured;

/** An ability that a call can show. Webhooks show theirs themselves. */
export type ProbedAbility = Exclude<Ability, 'webhooks'>;

/** The answer to a probe: `permitted` when the processor permits calls of this kind. */
export type ProbeResult = { kind: 'permitted'; ability: ProbedAbility } | Unavailable | Misconfigured;

/** The answer to any call over the network. */
export type CallAnswer =
  | ReadResult<unknown>
  | Ambiguous
  | LookupResult
  | SubmissionResult
  | CancelResult
  | ProbeResult;

/** What a refund of ours is found by at its processor. */
export interface RefundReference extends RefundName {
  transactionId: string;
  amount: bigint;
  currency: string;
}

/** A webhook request that is not verified yet: the raw body, and the headers by lowercase name. */
export interface WebhookRequest {
  body: Buffer;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

/**
 * A verified event of a processor. It is only a hint of what to read again; its content is not relied on.
 */
export interface WebhookEvent {
  /** The processor's id of the event; a digest of its text where it has none. */
  externalEventId: string;
  /** The processor's name for the kind of event. */
  type: string;
  occurredAt: Date;
  /** Null where the processor does not say. */
  environment: Environment | null;
  /** The connected account that it is about; null when it is about the account itself. */
  account: string | null;
  /** Null when it is not about a refund. */
  subject: WebhookSubject | null;
}

/** The refund or payment of an event. */
export interface WebhookSubject {
  /** The id of our refund; null when the refund was made elsewhere or is not named. */
  refundId: string | null;
  /** The processor's id of the refund; null when only the payment is named. */
  externalRefundId: string | null;
  /** The processor's status of the refund; null when only the payment is named. */
  processorStatus: string | null;
  /** The bank's reference of the refund; left out where the event has none. */
  bankReference?: string;
  /** The total refunded of the payment, in minor units; null unless only the payment is named. */
  refundedAmount: bigint | null;
  /** Set when it says that the payment was charged back, which the next read of the payment confirms or denies. */
  isChargedBack?: true;
  /** Every id of the payment. */
  transactionIds: readonly string[];
}

/**
 * `reason` quotes nothing of the request. `isSigned`: it has a signature that the account's secret does not confirm, as every request has
 * while that secret is wrong.
 */
export type WebhookVerdict =
  | { kind: 'verified'; event: WebhookEvent }
  | { kind: 'not-verified'; reason: string; isSigned: boolean };

/** A refund in the list of all refunds of an account. */
export interface ListedRefund extends ProcessorRefund {
  /** The processor's ids of its payment. Stripe has two: of the charge and of the payment intent. */
  transactionIds: readonly string[];
}

/** The time in which refunds were created: from `from` (inclusive) to `to` (exclusive), to the second. */
export interface ListingWindow {
  from: Date;
  to: Date;
}

export interface ListingPage {
  refunds: readonly ListedRefund[];
  /** Reads the next page, and may be repeated after a failure; null on the last page. */
  next: ((options: CallOptions) => Promise<ReadResult<ListingPage>>) | null;
}

/** Limits one call. */
export interface CallOptions {
  /** Time limit of the whole call; the adapter answers by then. */
  timeoutMs: number;
  /**
   * Start of the time limit, as `performance.now()`; the time of the call by default. A process that was suspended before the
   * call has no time left and sends nothing.
   */
  since?: number;
}

/**
 * One account at one processor. An adapter only translates: it keeps no state, does not retry, does not know the lifecycle of
 * a refund, and does not throw for anything that a processor or network does.
 */
export interface Processor {
  /** Reads a payment with its refunds, by any id that stands for one payment. The other calls take the same ids. */
  getPayment(transactionId: string, options: CallOptions): Promise<PaymentReadResult>;
  /** Sends a refund: one attempt to move money. */
  createRefund(submission: RefundSubmission, options: CallOptions): Promise<SubmissionResult>;
  /** Looks up a refund by its name. */
  findRefund(reference: RefundReference, options: CallOptions): Promise<LookupResult>;
  /** Reads a refund by the processor's id. */
  getRefund(
    externalRefundId: string,
    reference: RefundReference,
    options: CallOptions,
  ): Promise<ReadResult<ProcessorRefund>>;
  /** Lists all refunds created in a window, in any state. Pages may be empty, and a very recent refund may be missing. */
  listRefunds(window: ListingWindow, options: CallOptions): Promise<ReadResult<ListingPage>>;
  /** Cancels an accepted refund. */
  cancelRefund(
    externalRefundId: string,
    reference: RefundReference,
    options: CallOptions,
  ): Promise<CancelResult>;
  /**
   * Asks whether the credentials have an ability, by a request about a payment or refund that cannot exist (`absent`), or by a list that
   * is empty: it changes nothing, whatever the answer. The processor checks the permission before it misses what is named.
   */
  probe(ability: ProbedAbility, options: CallOptions): Promise<ProbeResult>;
  /** The processor's id of the account; null when it does not say, because the credentials may not read it or for any other reason. */
  ownAccountId(options: CallOptions): Promise<string | null>;
  /** False while a secret is missing that webhooks are verified with, so that every one is refused. */
  readonly hasWebhookSecret: boolean;
  /**
   * Checks that the processor signed a request for this account, recently where it signs the time, and reads the event. A
   * malformed request is not verified; nothing in a request makes this throw.
   */
  verifyWebhook(request: WebhookRequest): Promise<WebhookVerdict>;
  /** The answer that confirms a webhook address to the processor; null for an invalid challenge. */
  answerChallenge(challenge: string): string | null;
}

/** A credential, as a form asks for it. */
export interface CredentialField {
  /** Its name in the input of `parseCredentials`. */
  name: string;
  label: string;
  /** `address`: text that is not secret; `choice`: true or false. */
  type: 'secret' | 'address' | 'choice';
  isRequired: boolean;
  /** Where to find it, or what it is for. */
  hint: string;
  /** What it looks like, for the help of the command line; without one, it is left out there. */
  example?: string;
}

/** A refund that the processor has accepted, as far as it is stored. */
interface AcceptedRefund {
  externalRefundId: string;
  transactionId: string;
  /** The processor's status, as last read; null before that. */
  processorStatus: string | null;
}

/** A processor, independent of an account. */
export interface ProcessorKind<Credentials> {
  name: string;
  displayName: string;
  /** The input of `parseCredentials`, in the order of a form. */
  credentialFields: readonly CredentialField[];
  /** What to know about the credentials, for the help of the command line. */
  credentialsNote?: string;
  /** False for a processor that keeps no metadata with a refund, beside its name: an account sends none. */
  keepsMetadata: boolean;
  /** What can go with a refund. */
  refundOptions: readonly RefundOption[];
  /** The format of the ids of connected accounts, on whose behalf an account can act; null for a processor that has none. */
  connectedAccountId: RegExp | null;
  /** The meaning of a refund's status. */
  refundState(processorStatus: string): ProcessorRefundState;
  /** What ids of payments and refunds begin with, which people leave out of a search. */
  idPrefixes: readonly string[];
  /** True when only this processor has transaction ids of this format. */
  recognizes(transactionId: string): boolean;
  /** False for an id that the processor cannot have; such an id is never sent. */
  couldBe(transactionId: string): boolean;
  /**
   * Validates credentials and checks that they belong to the environment.
   * @throws InvalidCredentialsError naming the field, never its value.
   */
  parseCredentials(input: unknown, environment: Environment): Credentials;
  /** The address of a payment's page at the processor, for people, where it needs nothing but the id; undefined where it has none. */
  paymentPage?(transactionId: string, environment: Environment): string | undefined;
  /** Why the processor cannot take the amount, for the caller; null when it can. */
  amountProblem(amount: bigint, currency: string): string | null;
  /** False when the processor no longer cancels the refund, judged by its last known status. */
  mayCancel(refund: AcceptedRefund): boolean;
  /**
   * The settle delay: from this long after an attempt has ended, a lookup that finds nothing proves that nothing was
   * applied.
   */
  settleDelayMs: number;
  /**
   * Webhooks: the media type of the body, the query parameter of the challenge to a new address (null when there is none), and
   * the instructions for setting them up.
   */
  webhooks: { mediaType: string; challengeParameter: string | null; setUp: string };
  /** The secrets in the credentials, in every form in which they are sent. */
  secretsOf(credentials: Credentials): readonly string[];
  /** Opens the one client of an account, which those that are connected to it use as well. */
  connect(credentials: Credentials, proxies: ProxySettings): OnBehalfOf;
}

/**
 * The processor as an account uses it.
 * @param connectedAccount every call is about what belongs to it; null for the account's own.
 * @throws TypeError for a connected account whose id does not fit `connectedAccountId`.
 */
export type OnBehalfOf = (connectedAccount: string | null) => Processor;

/** Credentials that cannot be used. The message is for the person who entered them. */
export class InvalidCredentialsError extends Error {
  override readonly name = 'InvalidCredentialsError';
}
