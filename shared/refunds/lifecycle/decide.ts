import type { Dependencies } from '../../dependencies.ts';
import { type KnownPayment, type PaymentFacts, remainingOf } from '../../payments/payment.ts';
import type { ApiKey } from '../../platform/database.ts';
import type { Environment } from '../../platform/environment.ts';
import { ServiceError } from '../../platform/errors.ts';
import {
  type AgentLimits,
  type AgentVerdict,
  agentConditions,
  availableOf,
  type CountedKey,
  countedKey,
  evaluateAgentLimits,
  type RecordedLimits,
  readAgentLimits,
  recordedLimitsOf,
} from '../../policies/agent-limits.ts';
import {
  bindsRequester,
  evaluatePolicies,
  ineligible,
  longestHold,
  tracePolicies,
  unknownTransaction,
} from '../../policies/evaluate.ts';
import { allowedReason } from '../../policies/explain.ts';
import type { Policy, PolicyVerdict } from '../../policies/policy.ts';
import { type PolicyRequest, readPolicyFacts } from '../../policies/policy-facts.ts';
import type { ProcessorFailure } from '../../processors/contract/processor.ts';
import { processorKind } from '../../processors/registry.ts';
import type { InitiatedBy, RefundReason } from '../model/reasons.ts';
import { currencyMismatch, nothingLeft, tooLittleLeft } from '../model/refusals.ts';
import type { InitialStatus } from '../model/states.ts';
import { findPayment, type Purpose, readProblem, unreachable } from './find-payment.ts';

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
  metadata: Record<string, unknown> | null;
  /** Null for a request without an idempotency key. */
  idempotency: IdempotencyKey | null;
  /** The last time at which it may be stored, by the database's clock. */
  storeUntil?: Date;
}

/** An API key as it was read for this request. */
export type RequestingKey = Pick<ApiKey, 'id' | 'agentLimits'>;

/** An idempotency key and the SHA-256 of its request. */
export interface IdempotencyKey {
  key: string;
  fingerprint: Uint8Array;
}

/** A possible refund of a payment. */
interface PolicyQuestion {
  organizationId: string;
  environment: Environment;
  /** The key that asks; null for a person. */
  apiKey: RequestingKey | null;
  /** `key:<id>` or `user:<id>`. */
  actor: string;
  transactionId: string;
  /** Undefined to detect it. */
  processor?: string | undefined;
  request: Omit<PolicyRequest, 'hasAgentKey' | 'amount'> & { amount: PolicyRequest['amount'] | 'remaining' };
}

/** What a check says about a possible refund. */
export interface PaymentExamination {
  /** Null when there is no account for it, or its processor does not have it or cannot refund it. */
  payment: KnownPayment | null;
  /** Why its processor cannot refund it; null otherwise. */
  unrefundable: ProcessorFailure | null;
  verdict: PolicyVerdict;
}

/** What a request for a refund comes to at the moment. */
export interface Decision {
  processor: string;
  /** In minor units; 0 when all that is left was requested and nothing is. */
  amount: bigint;
  /** Why there is no refund; null when it can be recorded. */
  refusal: ServiceError | null;
  /** `pending` when the refund requires approval. */
  status: InitialStatus;
  /** How many seconds it is held before it is sent; 0 for not at all. */
  holdSeconds: number;
  /** Null while the processor is unreachable and no policy binds the requester. */
  verdict: PolicyVerdict | null;
  /** What the limits of the key say; null for a key without, and while the payment is not known. */
  agent: AgentVerdict | null;
  /** How the policies were evaluated; empty except for a dry run. */
  trace: readonly string[];
  /** The most that can be refunded now, in minor units. */
  maxAmount: bigint;
  /** What must still hold when the refund is recorded; null if concurrent refunds cannot change the decision. */
  limits: RecordedLimits | null;
  /** What was read of a payment that is not stored; null when it is stored. */
  unstored: PaymentFacts | null;
}

/**
 * Decides about a refund without recording it. A creation follows the decision, a dry run reports it.
 * @param purpose a dry run stores nothing, not even the payment as it was just read, and explains the decision.
 * @throws ServiceError while the payment is not known: validation_error for the processor or the amount; processor_error when no
 * account has the payment, it cannot be refunded, or the processor's answer cannot be read; service_unavailable while a policy
 * cannot be evaluated.
 */
export async function decideRefund(
  deps: Dependencies,
  request: RefundRequest,
  purpose: 'creation' | 'dry run',
): Promise<Decision> {
  // A request has the fields of a question, and those of the refund that it is about.
  const examined = await examine(deps, { ...request, request }, purpose);
  if (examined === null) {
    throw new ServiceError(
      'processor_error',
      `No processor account has the payment ${request.transactionId}. Check the ID and the environment.`,
    );
  }
  const { processor, found, unstored, counted, ruling } = examined;
  const amount = examined.request.amount;
  if (amount === null) throw readProblem(processor, found) ?? unreachable(processor, found);
  const problem = amount > 0n ? processorKind(processor).amountProblem(amount, request.currency) : null;
  const amountProblem = problem === null ? null : new ServiceError('validation_error', `amount: ${problem}`);
  if (ruling === null) {
    const refusal = amountProblem ?? readProblem(processor, found) ?? unverifiable(examined);
    if (refusal !== null) throw refusal;
    // Which policy matches is not known yet.
    const holdSeconds = longestHold(examined.policies, examined.request);
    return { ...acceptedUnread, holdSeconds, processor, amount, maxAmount: amount, unstored };
  }
  const { payment, verdict, agent, trace } = ruling;
  return {
    processor,
    amount,
    refusal: amountProblem ?? refusalOf(request, payment, verdict, agent),
    status: verdict.approvalRequired || agent?.approvalRequired === true ? 'pending' : 'processing',
    holdSeconds: verdict.holdSeconds,
    verdict,
    agent,
    trace,
    maxAmount: agent?.left ?? availableOf(payment, verdict),
    limits: recordedLimitsOf(verdict, agent, counted),
    unstored,
  };
}

/**
 * Checks whether a payment may be refunded, and creates no refund. A payment that has to be read is stored. An unknown payment,
 * or one that its processor cannot refund, is not eligible.
 * @throws ServiceError when the payment is not stored: service_unavailable while the processor is unreachable, and
 * processor_error when it refuses the account's credentials or its answer cannot be read. Also what `chooseAccount` throws.
 */
export async function examinePayment(
  deps: Dependencies,
  question: PolicyQuestion,
): Promise<PaymentExamination> {
  const { transactionId, request } = question;
  const unknown = {
    ...{ payment: null, unrefundable: null },
    verdict: unknownTransaction(transactionId, request.initiatedBy),
  };
  const examined = await examine(deps, question, 'check');
  if (examined === null) return unknown;
  const { processor, found, agentLimits, ruling } = examined;
  if (ruling !== null) {
    const { payment, verdict, agent } = ruling;
    return {
      ...{ payment, unrefundable: null },
      verdict: withAgentLimits(verdict, agentLimits, agent, examined.request.amount),
    };
  }
  if (found.kind === 'not-found') return unknown;
  if (found.kind === 'unrefundable') {
    const { failure } = found;
    const verdict = ineligible(failure.message, request.initiatedBy);
    return { payment: null, unrefundable: failure, verdict };
  }
  throw readProblem(processor, found) ?? unreachable(processor, found);
}

interface Examination {
  processor: string;
  policies: readonly Policy[];
  agentLimits: AgentLimits | null;
  /** The key whose refunds of a day are limited. */
  counted: CountedKey | null;
  request: PolicyRequest;
  found: PaymentFacts;
  /** What was read of a payment that is not stored; null when it is stored. */
  unstored: PaymentFacts | null;
  /** Null while the payment is not known, or not well enough to decide about a refund. */
  ruling: {
    payment: KnownPayment;
    verdict: PolicyVerdict;
    agent: AgentVerdict | null;
    /** Empty except for a dry run. */
    trace: readonly string[];
  } | null;
}

/**
 * Chooses the account, reads the payment, and evaluates the policies and the limits of the key.
 * @returns null when no account has the payment.
 */
async function examine(
  deps: Dependencies,
  question: PolicyQuestion,
  purpose: Purpose,
): Promise<Examination | null> {
  const { apiKey, actor } = question;
  const { accounts, policies } = await deps.lookups.setUp(question);
  const agentLimits = readAgentLimits(apiKey?.agentLimits ?? null);
  const counted = countedKey(apiKey, agentLimits);
  const known = await findPayment(deps, accounts, question, purpose, counted);
  if (known === null) return null;
  const { processor, stored, found, payment } = known;
  const amount = amountOf(question.request.amount, payment);
  const request = { ...question.request, amount, hasAgentKey: agentLimits !== null };
  const unstored = stored.payment === null ? found : null;
  const examined = { processor, policies, agentLimits, counted, request, found, unstored };
  // Limits are not compared with a payment that is known to have changed.
  const isOutdated = purpose !== 'check' && found.kind === 'stored' && found.payment.fetchedAt === null;
  if (payment === null || (isOutdated && unverifiable(examined) !== null))
    return { ...examined, ruling: null };
  const asked = { policies, payment, request, actor, now: stored.now };
  const facts = await readPolicyFacts(deps.db, asked, purpose !== 'creation');
  const verdict = evaluatePolicies(policies, facts);
  const agent =
    agentLimits &&
    evaluateAgentLimits(agentLimits, {
      ...{ amount, reason: request.reason, currency: payment.currency },
      taken: payment.reserved + payment.refundedOutside,
      takenInLastDay: stored.takenByKeyInLastDay,
      available: availableOf(payment, verdict),
    });
  const trace = purpose === 'dry run' ? tracePolicies(policies, facts) : [];
  return { ...examined, ruling: { payment, verdict, agent, trace } };
}

/** The amount to decide about; null when none is given, and for all that is left of a payment that is not known. */
function amountOf(asked: bigint | null | 'remaining', payment: KnownPayment | null): bigint | null {
  if (asked !== 'remaining') return asked;
  const remaining = payment && remainingOf(payment);
  return remaining !== null && remaining < 0n ? 0n : remaining;
}

// While the processor is unreachable the refund is accepted, and verified before it is sent.
const acceptedUnread = {
  ...{ refusal: null, status: 'processing' as const, verdict: null, agent: null },
  ...{ trace: [], limits: null },
};

/** What a policy or a key enforces cannot be evaluated without the payment, and must not be skipped. */
function unverifiable({
  policies,
  request,
  agentLimits,
}: Pick<Examination, 'policies' | 'request' | 'agentLimits'>): ServiceError | null {
  if (agentLimits === null && !policies.some((policy) => bindsRequester(policy, request))) return null;
  const checked = agentLimits === null ? 'the policies' : 'the policies and the limits of the key';
  return new ServiceError(
    'service_unavailable',
    `The processor is unreachable, and the payment is needed to check ${checked}. Retry in a few seconds.`,
    { retryAfterSeconds: 5 },
  );
}

/** The first reason why there is no refund; null when there is none. */
function refusalOf(
  request: RefundRequest,
  payment: KnownPayment,
  verdict: PolicyVerdict,
  agent: AgentVerdict | null,
): ServiceError | null {
  const remaining = remainingOf(payment) ?? 0n;
  if (request.currency !== payment.currency || remaining <= 0n) {
    return balanceProblem(request, payment.currency, remaining);
  }
  const isDenied = verdict.enforced && !verdict.eligible;
  const denial = isDenied ? new ServiceError('policy_denied', verdict.reason) : null;
  if (agent !== null && agent.denial !== null) {
    // No smaller amount and no other reason helps against a policy that leaves nothing.
    const leavesNothing = (verdict.maxAmount ?? 0n) === 0n;
    return isDenied && leavesNothing ? denial : new ServiceError('policy_denied', agent.denial);
  }
  return balanceProblem(request, payment.currency, remaining) ?? denial;
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

/** The verdict of the policies and the limits of the key together. A denial by the policies comes first. */
function withAgentLimits(
  verdict: PolicyVerdict,
  limits: AgentLimits | null,
  agent: AgentVerdict | null,
  amount: bigint | null,
): PolicyVerdict {
  if (limits === null || agent === null) return verdict;
  const approvalRequired = verdict.approvalRequired || agent.approvalRequired;
  const allowed = () => allowedReason(amount, agent.left, limits, verdict.deadline, approvalRequired);
  return {
    ...verdict,
    eligible: verdict.eligible && agent.denial === null,
    reason: verdict.eligible ? (agent.denial ?? allowed()) : verdict.reason,
    maxAmount: verdict.maxAmount === null ? null : agent.left,
    conditions: [...verdict.conditions, ...agentConditions(limits)],
    approvalRequired,
  };
}
