import type { Clock } from '../clock.ts';
import type { DatabaseTransaction } from '../db.ts';
import type { InitiatedBy, RefundReason } from '../refunds/reasons.ts';
import type { KnownTransaction } from '../transactions/read-transaction.ts';
import { pickTransactionKey } from '../transactions/reservation.ts';
import { evaluatePolicies } from './evaluate.ts';
import { type Policy, type PolicyFacts, type PolicyVerdict, policyFromRow } from './policy.ts';

/** A refund that somebody asks for or asks about; without an amount, the question is a general one. */
export interface PolicyRequest {
  amount: bigint | null;
  reason: RefundReason | null;
  metadata: Readonly<Record<string, unknown>> | null;
  initiatedBy: InitiatedBy;
}

/** Gathers the facts about a payment and asks the organization's policies. */
export async function decidePolicy(
  db: DatabaseTransaction,
  clock: Clock,
  transaction: KnownTransaction,
  request: PolicyRequest,
): Promise<PolicyVerdict> {
  const now = clock.now();
  const policies = await loadPolicies(db, transaction.organizationId);
  const refunds = await db.refund.findMany({
    where: pickTransactionKey(transaction),
    select: { amount: true, status: true, createdAt: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  // Counting a day's refunds costs more than all the rest, so it is done only for policies that ask for it.
  const limitsDays = policies.some(({ velocity: { perDay } }) => perDay !== undefined);
  const velocity = limitsDays ? await velocityOf(db, transaction, now) : noVelocity;
  return evaluatePolicies(policies, { transaction, refunds, velocity, request, now });
}

const noVelocity: PolicyFacts['velocity'] = { refundsInLastDay: 0, amountInLastDay: 0n };

/** The organization's policies. */
export async function loadPolicies(db: DatabaseTransaction, organizationId: string): Promise<Policy[]> {
  const rows = await db.policy.findMany({ where: { organizationId } });
  return rows.map(policyFromRow);
}

/** True when the policy may stop or hold a refund of this initiator, rather than advise. */
export function bindsInitiator(policy: Policy, initiatedBy: InitiatedBy): boolean {
  if (initiatedBy === 'mcp' || policy.enforce[initiatedBy]) return true;
  return (policy.approvalAbove[initiatedBy] ?? null) !== null;
}

async function velocityOf(
  db: DatabaseTransaction,
  { organizationId, environment, currency }: KnownTransaction,
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
