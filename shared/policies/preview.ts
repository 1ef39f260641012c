import { asKnown } from '../payments/payment.ts';
import type { Database, Refund } from '../platform/database.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { evaluatePolicies } from './evaluate.ts';
import { type Policy, type PolicyFacts, type PolicyVerdict, summaryOf } from './policy.ts';

/** A refund that was asked for, and what two sets of policies say of it. */
export interface PreviewedRefund {
  refund: Pick<Refund, 'id' | 'amount' | 'currency' | 'transactionId' | 'createdAt'>;
  /** By the policies that hold. */
  current: PolicyVerdict;
  /** By those that are tried. */
  tried: PolicyVerdict;
}

/** What two sets of policies say of the latest refunds. */
export interface Preview {
  refunds: PreviewedRefund[];
  /** How many of the latest refunds were left out: their payment is not known yet, or was refunded in too many parts. */
  leftOut: number;
}

/** Refunds that a preview looks at: the latest ones. */
const previewedCount = 25;

/** Payments with more refunds than this are left out, so that a preview never reads more than the product of the two. */
const maxRefundsPerPayment = 100;

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
): Promise<Preview> {
  const latest = await readLatest(db, owner);
  const ofPayments = await readRefundsOfPayments(db, owner, latest);
  const refunds = latest.flatMap(({ payment, ...refund }) => {
    const known = asKnown(payment);
    const others = ofPayments.filter((other) => isOfSamePayment(other, refund));
    if (known === null || others.length > maxRefundsPerPayment) return [];
    const facts = factsAt(refund, known, others);
    return [
      {
        refund,
        current: evaluatePolicies(policies.current, facts),
        tried: evaluatePolicies(policies.tried, facts),
      },
    ];
  });
  return { refunds, leftOut: latest.length - refunds.length };
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
      processor: true,
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

type PaymentName = Pick<Refund, 'processor' | 'transactionId'>;
type RefundOfPayment = PaymentName & Pick<Refund, 'id' | 'amount' | 'status' | 'createdAt'>;

function isOfSamePayment(one: PaymentName, other: PaymentName): boolean {
  return one.processor === other.processor && one.transactionId === other.transactionId;
}

/** All refunds of the payments of some refunds, up to one more of each than a preview takes into account. */
async function readRefundsOfPayments(
  db: Database,
  { organizationId, environment }: RefundOwner,
  latest: readonly PaymentName[],
): Promise<RefundOfPayment[]> {
  return await db.$queryRaw<RefundOfPayment[]>`
    SELECT of_payment.*
    FROM (SELECT DISTINCT * FROM unnest(${latest.map(({ processor }) => processor)}::text[],
      ${latest.map(({ transactionId }) => transactionId)}::text[]) AS named (processor, transaction_id)) AS payment
    CROSS JOIN LATERAL (
      SELECT id, processor, transaction_id AS "transactionId", amount, status::text, created_at AS "createdAt"
      FROM refund
      WHERE organization_id = ${organizationId} AND environment = ${environment}::environment
        AND refund.processor = payment.processor AND refund.transaction_id = payment.transaction_id
      LIMIT ${maxRefundsPerPayment + 1}
    ) AS of_payment`;
}

/** What the policies would be asked with, had the refund's payment stood then as it does now but for later refunds. */
function factsAt(
  refund: Omit<LatestRefund, 'payment'>,
  transaction: PolicyFacts['transaction'],
  others: readonly RefundOfPayment[],
): PolicyFacts {
  const { amount, reason, metadata, initiatedBy, createdAt, id } = refund;
  return {
    transaction,
    refunds: summaryOf(others.filter((other) => other.createdAt < createdAt && other.id !== id)),
    velocity: { refundsInLastDay: 0, amountInLastDay: 0n },
    request: { amount, reason, metadata: metadata as Record<string, unknown> | null, initiatedBy },
    now: createdAt,
  };
}
