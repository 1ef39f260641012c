import { type KnownPayment, refundsOf } from '../payments/payment.ts';
import { type Database, Prisma } from '../platform/database.ts';
import { comparedOwnerSql, ownerSql } from '../refunds/queries/refund-filter.ts';
import { countsRequester } from './evaluate.ts';
import type { Policy, PolicyFacts, Velocity } from './policy.ts';

/** The refund to decide about; without an amount, whether the payment can be refunded at all. */
export type PolicyRequest = PolicyFacts['request'];

/** The input of a decision. */
interface PolicyCase {
  policies: readonly Policy[];
  payment: KnownPayment;
  request: PolicyRequest;
  /** Who requests it: `user:<id>` or `key:<id>`. */
  actor: string;
  now: Date;
}

/**
 * Reads the facts that policies decide by.
 * @param inFull true for what the conditions of the verdict name, such as the number and time of earlier refunds; false for the
 * facts that some policy limits.
 */
export async function readPolicyFacts(
  db: Database,
  { policies, payment, request, actor, now }: PolicyCase,
  inFull: boolean,
): Promise<PolicyFacts> {
  const countsRefunds = policies.some(({ velocity }) => velocity.perTransaction !== undefined);
  const countsDays = policies.some(({ velocity }) => velocity.perDay !== undefined);
  const refunds =
    inFull || countsRefunds
      ? await earlierRefunds(db, payment)
      : { count: 0, amount: payment.reserved, lastAt: null };
  const velocity = countsDays ? await velocityOf(db, payment, now) : noVelocity;
  const requesterVelocity = policies.some((policy) => countsRequester(policy, request))
    ? await requesterVelocityOf(db, payment, actor, now)
    : noVelocity;
  return { transaction: payment, refunds, velocity, requesterVelocity, request, now };
}

/** Of no refunds, or where none are counted. */
const noVelocity: Velocity = { refundsInLastDay: 0, amountInLastDay: 0n };

async function earlierRefunds(db: Database, payment: KnownPayment): Promise<PolicyFacts['refunds']> {
  const { _count, _max } = await db.refund.aggregate({
    where: { ...refundsOf(payment), status: { in: ['pending', 'processing', 'completed'] } },
    _count: true,
    _max: { createdAt: true },
  });
  return { count: _count, amount: payment.reserved, lastAt: _max.createdAt };
}

async function velocityOf(db: Database, payment: KnownPayment, now: Date): Promise<Velocity> {
  return await sumOf(db, payment, Prisma.sql`${ownerSql(payment)} AND created_at > ${dayBefore(now)}`);
}

async function requesterVelocityOf(
  db: Database,
  payment: KnownPayment,
  actor: string,
  now: Date,
): Promise<Velocity> {
  return await sumOf(
    db,
    payment,
    Prisma.sql`requester = (SELECT requester_of(${actor})) AND created_at > ${dayBefore(now)} AND ${comparedOwnerSql(payment)}`,
  );
}

function dayBefore(now: Date): Prisma.Sql {
  return Prisma.sql`${now}::timestamptz - interval '24 hours'`;
}

/** What the refunds come to that a condition selects and that have neither failed nor been cancelled. */
async function sumOf(db: Database, { currency }: KnownPayment, condition: Prisma.Sql): Promise<Velocity> {
  const [row] = await db.$queryRaw<Velocity[]>`
    SELECT count(*)::int AS "refundsInLastDay",
      coalesce(sum(amount) FILTER (WHERE currency = ${currency}), 0)::bigint AS "amountInLastDay"
    FROM refund WHERE ${condition} AND status IN ('pending', 'processing', 'completed')`;
  return row ?? noVelocity;
}
