import type { Database, Refund } from '../db.ts';
import type { RefundOwner } from '../refunds/find-refunds.ts';
import { asKnown, type KnownTransaction } from '../transactions/read-transaction.ts';
import { evaluatePolicies } from './evaluate.ts';
import type { Policy, PolicyFacts, PolicyVerdict } from './policy.ts';

/** A refund that was asked for, and what two sets of policies say of it. */
export interface PreviewedRefund {
  refund: Refund;
  /** By the policies that hold. */
  current: PolicyVerdict;
  /** By those that are tried. */
  tried: PolicyVerdict;
}

/** Refunds that a preview looks at: the latest ones. */
const previewedCount = 25;

/**
 * Asks two sets of policies about the latest refunds of an environment, each at the time at which it was asked for and
 * after the refunds of its payment that were there before. It is not quite what was decided then: the statuses of those
 * other refunds, and what was refunded outside this service, are those of now. Limits per day are taken as far away,
 * because what the organization refunded in the day before each of them is not gathered for a preview.
 */
export async function previewPolicies(
  db: Database,
  owner: RefundOwner,
  policies: { current: readonly Policy[]; tried: readonly Policy[] },
): Promise<PreviewedRefund[]> {
  const { organizationId, environment } = owner;
  const refunds = await db.refund.findMany({
    where: { organizationId, environment },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: previewedCount,
    include: { transaction: { include: { refunds: { orderBy: { createdAt: 'asc' } } } } },
  });
  return refunds.flatMap(({ transaction, ...refund }) => {
    const known = asKnown(transaction);
    if (known === null) return [];
    const facts = factsAt(refund, known, transaction.refunds);
    return [
      {
        refund,
        current: evaluatePolicies(policies.current, facts),
        tried: evaluatePolicies(policies.tried, facts),
      },
    ];
  });
}

/** What the policies would be asked with, had the refund's payment stood then as it does now but for later refunds. */
function factsAt(refund: Refund, transaction: KnownTransaction, others: readonly Refund[]): PolicyFacts {
  const { amount, reason, metadata, initiatedBy, createdAt, id } = refund;
  return {
    transaction,
    refunds: others.filter((other) => other.createdAt < createdAt && other.id !== id),
    velocity: { refundsInLastDay: 0, amountInLastDay: 0n },
    request: { amount, reason, metadata: metadata as Record<string, unknown> | null, initiatedBy },
    now: createdAt,
  };
}
