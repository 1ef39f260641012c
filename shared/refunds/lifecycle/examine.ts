import {
  decisiveFreshMs,
  type KnownPayment,
  type PaymentFacts,
  remainingOf,
} from '../../payments/payment.ts';
import type { ApiKey } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { limitsPayment, readAgentLimits } from '../../policies/agent-limits.ts';
import { bindsRequester, decideByTotal, ineligible, unknownTransaction } from '../../policies/evaluate.ts';
import { evaluateRefund, type Rules, traceRefund, type Verdict } from '../../policies/evaluate-refund.ts';
import type { PolicyVerdict } from '../../policies/policy.ts';
import { type PolicyRequest, readRefundFacts, type VelocityReads } from '../../policies/policy-facts.ts';
import type { AccountName } from '../../processors/accounts/account.ts';
import type { ProcessorFailure } from '../../processors/contract/processor.ts';
import { currencyMismatch } from '../model/refusals.ts';
import {
  findPayment,
  type PaymentDependencies,
  type PaymentQuestion,
  type Purpose,
  readProblem,
  unreachable,
} from './find-payment.ts';

/** An API key as it was read for this request. */
export type RequestingKey = Pick<ApiKey, 'id' | 'agentLimits'>;

/** A possible refund of a payment. */
interface PolicyQuestion extends PaymentQuestion {
  /** The key that asks; null for a person. */
  apiKey: RequestingKey | null;
  /** `key:<id>` or `user:<id>`. */
  actor: string;
  /** In which the refund would be, lowercase; undefined for that of the payment. */
  currency?: string | undefined;
  request: Omit<PolicyRequest, 'hasAgentKey' | 'amount'> & { amount: PolicyRequest['amount'] | 'remaining' };
}

/** What a check says about a possible refund. */
export interface PaymentExamination {
  /** Null when there is no account for it, or its processor does not have it or cannot refund it. */
  payment: KnownPayment | null;
  /** The processor of the payment; null without one. */
  processor: string | null;
  /** Why its processor cannot refund it; null otherwise. */
  unrefundable: ProcessorFailure | null;
  verdict: PolicyVerdict;
}

/** What examines a request for a refund needs. */
export interface ExaminationDependencies extends PaymentDependencies {
  velocities: VelocityReads;
}

/**
 * Checks whether a payment may be refunded, and creates no refund. A payment that has to be read is stored. An unknown payment,
 * or one that its processor cannot refund, is not eligible.
 * @throws ServiceError when the payment is not stored: service_unavailable while the processor is unreachable or refuses the account's
 * credentials, and processor_error when its answer cannot be read. Also what `chooseAccount` throws.
 */
export async function examinePayment(
  deps: ExaminationDependencies,
  question: PolicyQuestion,
): Promise<PaymentExamination> {
  const { transactionId, request } = question;
  const unknown = {
    ...{ payment: null, processor: null, unrefundable: null },
    verdict: unknownTransaction(transactionId, request.initiatedBy),
  };
  const examined = await examine(deps, question, 'check');
  if (examined === null) return unknown;
  const { account, found, ruling } = examined;
  if (ruling !== null) {
    const { payment } = ruling;
    const isSameCurrency = (question.currency ?? payment.currency) === payment.currency;
    const { message } = currencyMismatch(payment.currency);
    const verdict = isSameCurrency ? ruling.verdict : ineligible(message, request.initiatedBy);
    return { payment, processor: account.processor, unrefundable: null, verdict };
  }
  if (found.kind === 'not-found') return unknown;
  if (found.kind === 'unrefundable') {
    const { failure } = found;
    const verdict = ineligible(failure.message, request.initiatedBy);
    return { payment: null, processor: account.processor, unrefundable: failure, verdict };
  }
  throw readProblem(account.processor, found) ?? unreachable(account.processor, found);
}

/** What is known of a possible refund. */
export interface Examination {
  account: AccountName;
  rules: Rules;
  request: PolicyRequest;
  found: PaymentFacts;
  /** What was read of a payment that is not stored; null when it is stored. */
  unstored: PaymentFacts | null;
  /** Null while the payment is not known, or not well enough to decide about a refund. */
  ruling: {
    payment: KnownPayment;
    verdict: Verdict;
    /** Empty except for a dry run. */
    trace: readonly string[];
  } | null;
}

/**
 * Chooses the account, reads the payment, and evaluates the policies and the limits of the key.
 * @returns null when no account has the payment.
 */
export async function examine(
  deps: ExaminationDependencies,
  question: PolicyQuestion,
  purpose: Purpose,
): Promise<Examination | null> {
  const { apiKey, actor } = question;
  const setUp = await deps.lookups.setUp(question);
  const { policies } = setUp;
  const agentLimits = readAgentLimits(apiKey?.agentLimits ?? null);
  const rules = { policies, agentLimits };
  const requester = { ...question.request, hasAgentKey: agentLimits !== null };
  const isDecisive =
    question.request.amount === 'remaining' ||
    (agentLimits !== null && limitsPayment(agentLimits)) ||
    decideByTotal(policies, requester);
  const freshMs = isDecisive ? decisiveFreshMs : undefined;
  const counted =
    apiKey === null || agentLimits?.maxPerDay === undefined
      ? null
      : { apiKeyId: apiKey.id, currency: agentLimits.currency };
  const known = await findPayment(deps, setUp, question, purpose, { counted, freshMs });
  if (known === null) return null;
  const { account, stored, found, payment } = known;
  const request = { ...requester, amount: amountOf(question.request.amount, payment) };
  const unstored = stored.payment === null ? found : null;
  const examined = { account, rules, request, found, unstored };
  // Limits are not compared with a payment that is known to have changed.
  const isOutdated = purpose !== 'check' && found.kind === 'stored' && found.payment.fetchedAt === null;
  if (payment === null || (isOutdated && unverifiable(examined) !== null))
    return { ...examined, ruling: null };
  const asked = { policies, payment, processor: account.processor, request, actor, stored };
  const facts = await readRefundFacts(deps, asked, purpose !== 'creation');
  const trace = purpose === 'dry run' ? traceRefund(rules, facts) : [];
  return { ...examined, ruling: { payment, verdict: evaluateRefund(rules, facts), trace } };
}

/** The amount to decide about; null when none is given, and for all that is left of a payment that is not known. */
function amountOf(asked: bigint | null | 'remaining', payment: KnownPayment | null): bigint | null {
  if (asked !== 'remaining') return asked;
  const remaining = payment && remainingOf(payment);
  return remaining !== null && remaining < 0n ? 0n : remaining;
}

/** What a policy or a key enforces cannot be evaluated without the payment, and must not be skipped. */
export function unverifiable({
  rules: { policies, agentLimits },
  request,
}: Pick<Examination, 'rules' | 'request'>): ServiceError | null {
  if (agentLimits === null && !policies.some((policy) => bindsRequester(policy, request))) return null;
  const checked = agentLimits === null ? 'the policies' : 'the policies and the limits of the key';
  return new ServiceError(
    'service_unavailable',
    `The payment cannot be read at its processor now, and is needed to check ${checked}. Retry in a few seconds.`,
    { retryAfterSeconds: 5 },
  );
}
