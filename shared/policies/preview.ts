import { asKnown } from '../payments/payment.ts';
import type { Database, Refund } from '../platform/database.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { countsRequester, evaluatePolicies } from './evaluate.ts';
import { type Policy, type PolicyFacts, type PolicyVerdict, summaryOf, type Velocity } from './policy.ts';
import { countedSql, noVelocity, type RequestedRow, velocityFromRow } from './policy-facts.ts';

/** An existing refund and the verdicts of two sets of policies. */
export interface PreviewedRefund {
  refund: Pick<Refund, 'id' | 'amount' | 'currency' | 'transactionId' | 'createdAt'>;
  /** Of the stored policies. */
  current: PolicyVerdict;
  /** Of the edited policies. */
  edited: PolicyVerdict;
}

/** The verdicts of two sets of policies on the latest refunds. */
export interface Preview {
  refunds: PreviewedRefund[];
  /** How many of the latest refunds were skipped, because their payment is not known yet or has too many refunds. */
  skipped: number;
}

/** How many of the latest refunds a preview evaluates. */
const previewedCount = 25;

/** Payments with more refunds than this are skipped, which bounds what a preview reads. */
const maxRefundsPerPayment = 100;

/**
 * Evaluates two sets of policies on the latest refunds of an environment, each at the time when it was created and after the
 * earlier refunds of its payment and its requester. The result can differ from the decision made then: the statuses of the other
 * refunds and the amount refunded outside this service are the current ones, and limits per 24 hours of the organization and
 * those of keys are ignored.
 */
export async function previewPolicies(
  db: Database,
  owner: RefundOwner,
  policies: { current: readonly Policy[]; edited: readonly Policy[] },
): Promise<Preview> {
  const latest = await readLatest(db, owner);
  const ofPayments = await readRefundsOfPayments(db, latest);
  const ofRequesters = await readRequesterVelocities(db, owner, latest, [
    ...policies.current,
    ...policies.edited,
  ]);
  const refunds = latest.flatMap(({ payment, ...refund }) => {
    const known = asKnown(payment);
    const others = ofPayments.filter(({ paymentId }) => paymentId === refund.paymentId);
    if (known === null || others.length > maxRefundsPerPayment) return [];
    const { id, amount, reason, initiatedBy, createdAt } = refund;
    const metadata = refund.metadata as Record<string, unknown> | null;
    // As they were at its creation, but with the current state of its payment.
    const facts: PolicyFacts = {
      transaction: known,
      refunds: summaryOf(others.filter((other) => other.createdAt < createdAt && other.id !== id)),
      velocity: noVelocity,
      requesterVelocity: ofRequesters.get(id) ?? noVelocity,
      request: { amount, reason, metadata, initiatedBy },
      now: createdAt,
    };
    return [
      {
        refund,
        current: evaluatePolicies(policies.current, facts),
        edited: evaluatePolicies(policies.edited, facts),
      },
    ];
  });
  return { refunds, skipped: latest.length - refunds.length };
}

type LatestRefund = Awaited<ReturnType<typeof readLatest>>[number];

async function readLatest(db: Database, { organizationId, environment }: RefundOwner) {
  return await db.refund.findMany({
    where: { organizationId, environment },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: previewedCount,
    select: {
      id: true,
      transactionId: true,
      paymentId: true,
      amount: true,
      currency: true,
      reason: true,
      metadata: true,
      initiatedBy: true,
      createdAt: true,
      payment: {
        select: { amount: true, currency: true, chargedAt: true, processor: true, refundedOutside: true },
      },
    },
  });
}

type RefundOfPayment = Pick<Refund, 'paymentId' | 'id' | 'amount' | 'status' | 'createdAt'>;

/** All refunds of the payments of some refunds, up to one more per payment than the limit. */
async function readRefundsOfPayments(
  db: Database,
  latest: readonly Pick<Refund, 'paymentId'>[],
): Promise<RefundOfPayment[]> {
  return await db.$queryRaw<RefundOfPayment[]>`
    SELECT of_payment.*
    FROM (SELECT DISTINCT unnest(${latest.map(({ paymentId }) => paymentId)}::bigint[]) AS id) AS payment
    CROSS JOIN LATERAL (
      SELECT id, payment_id AS "paymentId", amount, status::text, created_at AS "createdAt"
      FROM refund WHERE refund.payment_id = payment.id
      LIMIT ${maxRefundsPerPayment + 1}
    ) AS of_payment`;
}

/** What the requester of each refund had requested in the 24 hours before it; empty when no policy compares it. */
async function readRequesterVelocities(
  db: Database,
  owner: RefundOwner,
  latest: readonly LatestRefund[],
  policies: readonly Policy[],
): Promise<Map<string, Velocity>> {
  const counted = latest.filter((refund) => policies.some((policy) => countsRequester(policy, refund)));
  if (counted.length === 0) return new Map();
  // The refunds of each requester are read once, from a day before the first of these refunds to the last.
  const rows = await db.$queryRaw<(RequestedRow & { id: string })[]>`
    WITH asked AS MATERIALIZED (
      SELECT id, currency, created_at, requester FROM refund WHERE id = ANY(${counted.map(({ id }) => id)})
    ), made AS MATERIALIZED (
      SELECT each.* FROM (
        SELECT requester, min(created_at) - interval '24 hours' AS since, max(created_at) AS before FROM asked GROUP BY 1
      ) AS span
      CROSS JOIN LATERAL (SELECT requester, amount, currency, created_at FROM refund
        WHERE requester = span.requester AND created_at > since AND created_at < before AND ${countedSql(owner)}
        OFFSET 0) AS each
    )
    SELECT asked.id, count(made) AS made_count,
      coalesce(sum(made.amount) FILTER (WHERE made.currency = asked.currency), 0)::bigint AS made_amount
    FROM asked LEFT JOIN made ON made.requester = asked.requester
      AND made.created_at > asked.created_at - interval '24 hours' AND made.created_at < asked.created_at
    GROUP BY asked.id`;
  return new Map(rows.map((row) => [row.id, velocityFromRow(row)]));
}
