import { type KnownPayment, refundsOf } from '../payments/payment.ts';
import { type Database, Prisma } from '../platform/database.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { comparedOwnerSql } from '../refunds/queries/refund-filter.ts';
import { countsRequester } from './evaluate.ts';
import type { Policy, PolicyFacts, Velocity } from './policy.ts';

/** The refund to decide about; without an amount, whether the payment can be refunded at all. */
export type PolicyRequest = PolicyFacts['request'];

/** The input of a decision. */
export interface PolicyCase {
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
    where: {
      ...refundsOf(payment),
      status: { in: ['pending', 'processing', 'completed'] },
    },
    _count: true,
    _max: { createdAt: true },
  });
  return { count: _count, amount: payment.reserved, lastAt: _max.createdAt };
}

async function velocityOf(
  db: Database,
  { organizationId, environment, currency }: KnownPayment,
  now: Date,
): Promise<Velocity> {
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

/** How many refunds a requester has requested, and the total of those in one currency. */
interface RequestedRow {
  made_count: bigint;
  made_amount: bigint;
}

function velocityFromRow({ made_count, made_amount }: RequestedRow): Velocity {
  return { refundsInLastDay: Number(made_count), amountInLastDay: made_amount };
}

async function requesterVelocityOf(
  db: Database,
  { organizationId, environment, currency }: KnownPayment,
  actor: string,
  now: Date,
): Promise<Velocity> {
  const [row] = await db.$queryRaw<RequestedRow[]>`
    SELECT count(*) AS made_count, coalesce(sum(amount) FILTER (WHERE currency = ${currency}), 0)::bigint AS made_amount
    FROM refund WHERE requester = (SELECT requester_of(${actor})) AND created_at > ${now}::timestamptz - interval '24 hours'
      AND ${countedSql({ organizationId, environment })}`;
  return row === undefined ? noVelocity : velocityFromRow(row);
}

/** The refunds of an environment that count for a requester. */
function countedSql(owner: RefundOwner): Prisma.Sql {
  return Prisma.sql`${comparedOwnerSql(owner)} AND status IN ('pending', 'processing', 'completed')`;
}
