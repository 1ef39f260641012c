import type { KnownPayment } from '../payments/payment.ts';
import type { Database } from '../platform/database.ts';
import type { InitiatedBy, RefundReason } from '../refunds/model/reasons.ts';
import { evaluatePolicies } from './evaluate.ts';
import type { Policy, PolicyFacts, PolicyVerdict } from './policy.ts';

/** The refund to decide about; without an amount, whether the payment can be refunded at all. */
export interface PolicyRequest {
  amount: bigint | null;
  reason: RefundReason | null;
  metadata: Readonly<Record<string, unknown>> | null;
  initiatedBy: InitiatedBy;
}

/** The input of a decision. */
export interface PolicyCase {
  policies: readonly Policy[];
  payment: KnownPayment;
  request: PolicyRequest;
  now: Date;
}

/** Decides with all facts for the conditions of the verdict, such as the number and time of earlier refunds. */
export async function decideInFull(db: Database, question: PolicyCase): Promise<PolicyVerdict> {
  return await decide(db, question, true);
}

/** Decides about a refund to be created; reads only the facts that some policy limits. */
export async function decidePolicy(db: Database, question: PolicyCase): Promise<PolicyVerdict> {
  return await decide(db, question, false);
}

async function decide(
  db: Database,
  { policies, payment, request, now }: PolicyCase,
  inFull: boolean,
): Promise<PolicyVerdict> {
  const countsRefunds = policies.some(({ velocity }) => velocity.perTransaction !== undefined);
  const countsDays = policies.some(({ velocity }) => velocity.perDay !== undefined);
  const refunds =
    inFull || countsRefunds
      ? await refundsOf(db, payment)
      : { count: 0, amount: payment.reserved, lastAt: null };
  const velocity = countsDays ? await velocityOf(db, payment, now) : noVelocity;
  return evaluatePolicies(policies, { transaction: payment, refunds, velocity, request, now });
}

const noVelocity: PolicyFacts['velocity'] = { refundsInLastDay: 0, amountInLastDay: 0n };

/** True when the policy can block a refund of this initiator or require approval for it. */
export function bindsInitiator(policy: Policy, initiatedBy: InitiatedBy): boolean {
  if (initiatedBy === 'mcp' || policy.enforce[initiatedBy]) return true;
  return (policy.approvalAbove[initiatedBy] ?? null) !== null;
}

async function refundsOf(
  db: Database,
  { organizationId, environment, processor, transactionId, reserved }: KnownPayment,
): Promise<PolicyFacts['refunds']> {
  const { _count, _max } = await db.refund.aggregate({
    where: {
      ...{ organizationId, environment, processor, transactionId },
      status: { in: ['pending', 'processing', 'completed'] },
    },
    _count: true,
    _max: { createdAt: true },
  });
  return { count: _count, amount: reserved, lastAt: _max.createdAt };
}

async function velocityOf(
  db: Database,
  { organizationId, environment, currency }: KnownPayment,
  now: Date,
): Promise<PolicyFacts['velocity']> {
  const dayAgo = new Date(now.getTime() - 24 * 60 * 60 * 1000);
  const live = {
    organizationId,
    environment,
    createdAt: { gt: dayAgo },
    status: { in: ['pending', 'processing', 'completed'] as const satisfies string[] },
  };
  const [all, sameCurrency] = await Promise.all([
    db.refund.count({ where: live }),
    db.refund.aggregate({ where: { ...live, currency }, _sum: { amount: true } }),
  ]);
  return { refundsInLastDay: all, amountInLastDay: sameCurrency._sum.amount ?? 0n };
}
