import { type AgentVerdict, readAgentLimits } from '../../organizations/evaluate-agent-limits.ts';
import { type KnownPayment, type PaymentKey, remainingOf } from '../../payments/payment.ts';
import { type PaymentFacts, readFacts } from '../../payments/read-payment.ts';
import type { ApiKey, Payment } from '../../platform/database.ts';
import type { Environment } from '../../platform/environment.ts';
import { ServiceError } from '../../platform/errors.ts';
import { bindsRequester, evaluatePolicies, tracePolicies } from '../../policies/evaluate.ts';
import type { PolicyVerdict } from '../../policies/policy.ts';
import { type PolicyRequest, readPolicyFacts } from '../../policies/policy-facts.ts';
import { chooseAccount } from '../../processors/accounts/choose-account.ts';
import type { AccountName } from '../../processors/accounts/connections.ts';
import type { ProcessorPayment } from '../../processors/contract/processor.ts';
import { processorKind } from '../../processors/registry.ts';
import type { InitiatedBy, RefundReason } from '../model/reasons.ts';
import { currencyMismatch, nothingLeft, refusedCredentials, tooLittleLeft } from '../model/refusals.ts';
import type { RefundDependencies } from './dependencies.ts';
import { askAgentLimits, availableOf, countedKey, limitsOf, type RecordedLimits } from './limits.ts';
import type { SetUp } from './lookups.ts';
import { knownUnrecorded, recordKnown } from './record-payment.ts';

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
  /** Minor units, positive. */
  amount: bigint;
  /** Lowercase ISO 4217. */
  currency: string;
  reason: RefundReason;
  processor: string | undefined;
  metadata: Record<string, unknown> | null;
  /** Null for a request without an idempotency key. */
  idempotency: IdempotencyKey | null;
}

/** An API key as it was read for this request. */
export type RequestingKey = Pick<ApiKey, 'id' | 'agentLimits'>;

/** An idempotency key and the SHA-256 of its request. */
export interface IdempotencyKey {
  key: string;
  fingerprint: Uint8Array;
}

/** What a request for a refund comes to at the moment. */
export interface Decision {
  processor: string;
  /** Why there is no refund; null when it can be recorded. */
  refusal: ServiceError | null;
  approvalRequired: boolean;
  /** Null while the processor is unreachable and no policy binds the requester. */
  verdict: PolicyVerdict | null;
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
 * @param isDryRun true to store nothing, not even the payment as it was just read, and to explain the decision.
 * @throws ServiceError while the payment is not known: validation_error for the processor or the amount, processor_error when
 * the payment is unknown or cannot be refunded, service_unavailable while a policy cannot be evaluated.
 */
export async function decideRefund(
  deps: RefundDependencies,
  request: RefundRequest,
  isDryRun: boolean,
): Promise<Decision> {
  const { organizationId, environment, transactionId, apiKey } = request;
  const setUp = await deps.lookups.setUp(request);
  const { account, amountProblem } = await chooseProcessor(deps, setUp, request);
  const { processor } = account;
  const key = { organizationId, environment, processor, transactionId };
  const agentLimits = readAgentLimits(apiKey?.agentLimits ?? null);
  const counted = countedKey(apiKey, agentLimits);
  const stored = await deps.lookups.payment(key, counted);
  const found = await readFacts(deps, account, transactionId, stored);
  const unreadable = readProblem(processor, found);
  if (unreadable !== null) throw amountProblem ?? unreadable;
  const payment = await knownPayment(deps, key, stored.payment, found, isDryRun);
  const unstored = stored.payment === null ? found : null;
  const asked = { ...request, hasAgentKey: agentLimits !== null };
  if (payment === null) {
    const refusal = amountProblem ?? unverifiable(setUp, asked);
    if (refusal !== null) throw refusal;
    return { ...acceptedUnread, processor, maxAmount: request.amount, unstored };
  }
  const { actor } = request;
  const question = { policies: setUp.policies, payment, request: asked, actor, now: stored.now };
  const facts = await readPolicyFacts(deps.db, question, isDryRun);
  const verdict = evaluatePolicies(setUp.policies, facts);
  const agent = askAgentLimits(agentLimits, { ...stored, request: asked, payment, verdict });
  return {
    processor,
    refusal: amountProblem ?? refusalOf(request, payment, verdict, agent),
    approvalRequired: verdict.approvalRequired || agent?.approvalRequired === true,
    verdict,
    trace: isDryRun ? tracePolicies(setUp.policies, facts) : [],
    maxAmount: agent?.left ?? availableOf(payment, verdict),
    limits: limitsOf(verdict, agent, counted),
    unstored,
  };
}

async function chooseProcessor(
  deps: RefundDependencies,
  { accounts }: SetUp,
  request: RefundRequest,
): Promise<{ account: AccountName; amountProblem: ServiceError | null }> {
  const account = await chooseAccount(deps, accounts, request);
  if (account === null) {
    throw new ServiceError(
      'processor_error',
      `No processor account has the payment ${request.transactionId}. Check the ID and the environment.`,
    );
  }
  const problem = processorKind(account.processor).amountProblem(request.amount, request.currency);
  const amountProblem = problem === null ? null : new ServiceError('validation_error', `amount: ${problem}`);
  return { account, amountProblem };
}

function readProblem(processor: string, found: PaymentFacts): ServiceError | null {
  switch (found.kind) {
    case 'not-found':
    case 'unrefundable':
      return new ServiceError('processor_error', found.failure.message);
    case 'misconfigured':
      return refusedCredentials(processor, found.failure);
    default:
      return null;
  }
}

/** Null while the processor is unreachable: the refund is accepted, and verified before it is sent. */
async function knownPayment(
  deps: RefundDependencies,
  key: PaymentKey,
  stored: Payment | null,
  found: PaymentFacts,
  isDryRun: boolean,
): Promise<KnownPayment | null> {
  if (found.kind === 'stored') return found.payment;
  if (found.kind !== 'read') return null;
  if (isDryRun) {
    const known = stored ?? (await storedByOtherId(deps, key, found.facts));
    return await knownUnrecorded(deps, key, known, found);
  }
  // A new payment is stored with the refund, and one that is stored by another of its ids is found then.
  if (stored === null) return await knownUnrecorded(deps, key, stored, found);
  return await recordKnown(deps, key, found);
}

/** The payment as stored by another id than the requested one; null when it is not. */
async function storedByOtherId(
  { lookups }: RefundDependencies,
  key: PaymentKey,
  { transactionIds }: ProcessorPayment,
): Promise<Payment | null> {
  const found = await Promise.all(
    transactionIds.map((transactionId) => lookups.payment({ ...key, transactionId })),
  );
  return found.find(({ payment }) => payment !== null)?.payment ?? null;
}

const acceptedUnread = { refusal: null, approvalRequired: false, verdict: null, trace: [], limits: null };

/** What a policy or a key enforces cannot be evaluated without the payment, and must not be skipped. */
function unverifiable({ policies }: SetUp, request: PolicyRequest): ServiceError | null {
  if (request.hasAgentKey !== true && !policies.some((policy) => bindsRequester(policy, request)))
    return null;
  const checked = request.hasAgentKey === true ? 'the policies and the limits of the key' : 'the policies';
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
  return request.amount > remaining ? tooLittleLeft(remaining, currency) : null;
}
