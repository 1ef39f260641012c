import type { AgentLimits } from '../../organizations/agent-limits.ts';
import {
  type AgentVerdict,
  agentConditions,
  readAgentLimits,
} from '../../organizations/evaluate-agent-limits.ts';
import type { KnownPayment } from '../../payments/payment.ts';
import { readFacts } from '../../payments/read-payment.ts';
import type { Environment } from '../../platform/environment.ts';
import { ServiceError } from '../../platform/errors.ts';
import { evaluatePolicies, ineligible, unknownTransaction } from '../../policies/evaluate.ts';
import { allowedReason } from '../../policies/explain.ts';
import type { PolicyVerdict } from '../../policies/policy.ts';
import { type PolicyRequest, readPolicyFacts } from '../../policies/policy-facts.ts';
import { chooseAccount } from '../../processors/accounts/choose-account.ts';
import type { ProcessorFailure } from '../../processors/contract/processor.ts';
import { refusedCredentials } from '../model/refusals.ts';
import type { RequestingKey } from './decide.ts';
import type { RefundDependencies } from './dependencies.ts';
import { askAgentLimits, countedKey } from './limits.ts';
import { recordKnown } from './record-payment.ts';

/** A possible refund of a payment. */
export interface PolicyQuestion {
  organizationId: string;
  environment: Environment;
  /** The key that asks; null for a person. */
  apiKey: RequestingKey | null;
  /** `key:<id>` or `user:<id>`. */
  actor: string;
  transactionId: string;
  /** Undefined to have it found out. */
  processor?: string | undefined;
  request: Omit<PolicyRequest, 'hasAgentKey'>;
}

export interface PaymentExamination {
  /** Null when there is no account for it, or its processor does not have it or cannot refund it. */
  payment: KnownPayment | null;
  /** Why its processor cannot refund it; null otherwise. */
  unrefundable: ProcessorFailure | null;
  verdict: PolicyVerdict;
}

/**
 * Checks whether a payment may be refunded, and creates no refund. A payment that has to be read is stored. An unknown payment, or one that its processor cannot refund, is
 * not eligible.
 * @throws ServiceError when the payment is not stored: service_unavailable while the processor is unreachable, and
 * processor_error when it refuses the account's credentials. Also what `chooseAccount` throws.
 */
export async function examinePayment(
  deps: RefundDependencies,
  question: PolicyQuestion,
): Promise<PaymentExamination> {
  const { organizationId, environment, apiKey, actor, transactionId } = question;
  const limits = readAgentLimits(apiKey?.agentLimits ?? null);
  const request = { ...question.request, hasAgentKey: limits !== null };
  const none = { payment: null, unrefundable: null };
  const unknown = { ...none, verdict: unknownTransaction(transactionId, request.initiatedBy) };
  const { accounts, policies } = await deps.lookups.setUp(question);
  const account = await chooseAccount(deps, accounts, { ...question, processor: question.processor });
  if (account === null) return unknown;
  const { processor } = account;
  const key = { organizationId, environment, processor, transactionId };
  const stored = await deps.lookups.payment(key, countedKey(apiKey, limits));
  const found = await readFacts(deps, account, transactionId, stored);
  switch (found.kind) {
    case 'stored':
    case 'read': {
      const payment = found.kind === 'stored' ? found.payment : await recordKnown(deps, key, found);
      const asked = { policies, payment, request, actor, now: stored.now };
      const facts = await readPolicyFacts(deps.db, asked, true);
      const verdict = evaluatePolicies(policies, facts);
      const agent = askAgentLimits(limits, { ...stored, request, payment, verdict });
      return {
        payment,
        unrefundable: null,
        verdict: withAgentLimits(verdict, limits, agent, request.amount),
      };
    }
    case 'not-found':
      return unknown;
    case 'unrefundable':
      return {
        payment: null,
        unrefundable: found.failure,
        verdict: ineligible(found.failure.message, request.initiatedBy),
      };
    case 'unreachable':
      throw new ServiceError(
        'service_unavailable',
        `${processor} could not be reached to read this transaction. Retry in a few seconds. Last error: ${found.failure.message}`,
        { retryAfterSeconds: 5 },
      );
    case 'misconfigured':
      throw refusedCredentials(processor, found.failure);
  }
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
