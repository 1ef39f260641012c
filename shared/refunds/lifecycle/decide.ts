import { type KnownPayment, type PaymentFacts, remainingOf } from '../../payments/payment.ts';
import type { Environment } from '../../platform/environment.ts';
import { ServiceError } from '../../platform/errors.ts';
import { longestHold } from '../../policies/evaluate.ts';
import type { Verdict } from '../../policies/evaluate-refund.ts';
import type { AccountName } from '../../processors/accounts/account.ts';
import {
  dependsOnPayment,
  optionProblem,
  optionsOf,
  type RefundOptions,
} from '../../processors/contract/refund-options.ts';
import { processorKind } from '../../processors/registry.ts';
import type { InitiatedBy, RefundReason } from '../../refund-request/reasons.ts';
import { currencyMismatch, nothingLeft, tooLittleLeft } from '../model/refusals.ts';
import type { InitialStatus } from '../model/states.ts';
import { type ExaminationDependencies, examine, type RequestingKey, unverifiable } from './examine.ts';
import { readProblem, unreachable } from './find-payment.ts';

/** A request for a refund, with validated fields. */
export interface RefundRequest {
  organizationId: string;
  environment: Environment;
  /** The key that requests it; null for a person. */
  apiKey: RequestingKey | null;
  initiatedBy: InitiatedBy;
  /** For the timeline: `key:<id>` or `user:<id>`. */
  actor: string;
  transactionId: string;
  /** Minor units, positive; `remaining` for all that is left of the payment. */
  amount: bigint | 'remaining';
  /** Lowercase ISO 4217. */
  currency: string;
  reason: RefundReason;
  processor: string | undefined;
  /** The id or the name of the account; undefined to detect it. */
  account?: string | undefined;
  /** The processor's id of the account that is connected to it; undefined for a payment of the account itself. */
  connectedAccount?: string | undefined;
  /** What goes with it beside its amount; undefined for what its account does by default. */
  options?: RefundOptions | undefined;
  metadata: Record<string, unknown> | null;
  /** Null for a request without an idempotency key. */
  idempotency: IdempotencyKey | null;
  /** The last time at which it may be stored, by the database's clock. */
  storeUntil?: Date;
}

/** An idempotency key and the SHA-256 of its request. */
export interface IdempotencyKey {
  key: string;
  fingerprint: Uint8Array;
}

/** What a request for a refund comes to at the moment. */
export interface Decision {
  account: AccountName;
  /** Null while it cannot be read. */
  payment: KnownPayment | null;
  /** In minor units; 0 when all that is left was requested and nothing is. */
  amount: bigint;
  /** Why there is no refund; null when it can be recorded. */
  refusal: ServiceError | null;
  /** `pending` when the refund requires approval. */
  status: InitialStatus;
  /** What goes with it; null for nothing. */
  options: RefundOptions | null;
  /** How many seconds it is held before it is sent; 0 for not at all. */
  holdSeconds: number;
  /** Null while the payment cannot be read and no policy binds the requester. */
  verdict: Verdict | null;
  /** How the policies were evaluated; empty except for a dry run. */
  trace: readonly string[];
  /** The most that can be refunded now, in minor units. */
  maxAmount: bigint;
  /** What was read of a payment that is not stored; null when it is stored. */
  unstored: PaymentFacts | null;
}

/**
 * Decides about a refund without recording it. A creation follows the decision, a dry run reports it, and a check shows it to a person.
 * @param purpose a dry run stores nothing, not even the payment as it was just read, and explains the decision. A check stores the payment.
 * @throws ServiceError while the payment is not known: validation_error for the account, the amount or an option; processor_error when no
 * account has the payment, it cannot be refunded, or the processor's answer cannot be read; service_unavailable while a policy or an option
 * cannot be evaluated, and for an account whose credentials have never worked.
 */
export async function decideRefund(
  deps: ExaminationDependencies,
  request: RefundRequest,
  purpose: 'creation' | 'dry run' | 'check',
): Promise<Decision> {
  // A request has the fields of a question, and those of the refund that it is about.
  const examined = await examine(deps, { ...request, request }, purpose);
  if (examined === null) {
    throw new ServiceError(
      'processor_error',
      `No processor account has the payment ${request.transactionId}. Check the ID and the environment.`,
    );
  }
  const { account, found, unstored, ruling } = examined;
  const { processor } = account;
  const amount = examined.request.amount;
  if (amount === null) throw readProblem(processor, found) ?? unreachable(processor, found);
  const problem = amount > 0n ? processorKind(processor).amountProblem(amount, request.currency) : null;
  const amountProblem = problem === null ? null : new ServiceError('validation_error', `amount: ${problem}`);
  const asked = request.options ?? {};
  if (ruling === null) {
    const refusal =
      amountProblem ??
      optionRefusal(processor, null, asked) ??
      readProblem(processor, found) ??
      unverifiable(examined) ??
      (dependsOnPayment(account, asked) ? optionsUnverifiable() : null);
    if (refusal !== null) throw refusal;
    // Which policy matches is not known yet.
    const holdSeconds = longestHold(examined.rules.policies, examined.request);
    return { ...acceptedUnread, holdSeconds, account, amount, maxAmount: amount, unstored };
  }
  const { payment, verdict, trace } = ruling;
  const isUnknown = payment.hasTransfer === null || payment.hasApplicationFee === null;
  if (isUnknown && dependsOnPayment(account, asked)) throw optionsUnverifiable();
  const parts = {
    hasTransfer: payment.hasTransfer ?? false,
    applicationFee: payment.hasApplicationFee ?? false,
  };
  const options = optionsOf(account, parts, asked);
  return {
    account,
    payment,
    amount,
    options,
    refusal:
      amountProblem ?? optionRefusal(processor, parts, options ?? {}) ?? refusalOf(request, payment, verdict),
    status: verdict.approvalRequired ? 'pending' : 'processing',
    holdSeconds: verdict.holdSeconds,
    verdict,
    trace,
    maxAmount: verdict.available,
    unstored,
  };
}

// While the processor is unreachable, or refuses credentials that have worked before, the refund is accepted, and verified before it is sent.
const acceptedUnread = {
  payment: null,
  refusal: null,
  options: null,
  status: 'processing' as const,
  verdict: null,
  trace: [],
};

/** The option that the processor or the payment does not have, null while that is not known; null when it has all of them. */
function optionRefusal(
  processor: string,
  payment: Parameters<typeof optionProblem>[1],
  options: RefundOptions,
): ServiceError | null {
  const problem = optionProblem(processorKind(processor), payment, options);
  return problem && new ServiceError('validation_error', `options.${problem.option}: ${problem.message}`);
}

/** 503: what goes with the refund depends on the payment. */
function optionsUnverifiable(): ServiceError {
  return new ServiceError(
    'service_unavailable',
    'The payment cannot be read at its processor now, and is needed to know which options it has. Retry in a few seconds.',
    { retryAfterSeconds: 5 },
  );
}

/** The first reason why there is no refund; null when there is none. */
function refusalOf(
  request: RefundRequest,
  payment: KnownPayment,
  { refusal, isDeniedByKey }: Verdict,
): ServiceError | null {
  const remaining = remainingOf(payment) ?? 0n;
  const problem = balanceProblem(request, payment.currency, remaining);
  if (request.currency !== payment.currency || remaining <= 0n) return problem;
  const denial = refusal === null ? null : new ServiceError('policy_denied', refusal);
  return isDeniedByKey ? denial : (problem ?? denial);
}

/** Why the balance of a payment does not allow the refund; null when it does. */
export function balanceProblem(
  request: Pick<RefundRequest, 'amount' | 'currency'>,
  currency: string,
  remaining: bigint,
): ServiceError | null {
  if (request.currency !== currency) return currencyMismatch(currency);
  if (remaining <= 0n) return nothingLeft();
  const { amount } = request;
  return amount !== 'remaining' && amount > remaining ? tooLittleLeft(remaining, currency) : null;
}
