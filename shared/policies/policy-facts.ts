import { type KnownPayment, refundsOf } from '../payments/payment.ts';
import { type Database, Prisma } from '../platform/database.ts';
import type { Environment } from '../platform/environment.ts';
import { shareByOrganization, shareRead } from '../platform/shared-statement.ts';
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
  { db, velocities }: { db: Database; velocities: VelocityReads },
  { policies, payment, request, actor, now }: PolicyCase,
  inFull: boolean,
): Promise<PolicyFacts> {
  const countsRefunds = policies.some(({ velocity }) => velocity.perTransaction !== undefined);
  const countsDays = policies.some(({ velocity }) => velocity.perDay !== undefined);
  const refunds =
    inFull || countsRefunds
      ? await earlierRefunds(db, payment)
      : { count: 0, amount: payment.reserved, lastAt: null };
  const { organizationId, environment, currency } = payment;
  const day = (of: string | null) => velocities(organizationId, environment, currency, of);
  const velocity = countsDays ? await day(null) : noVelocity;
  const requesterVelocity = policies.some((policy) => countsRequester(policy, request))
    ? await day(actor)
    : noVelocity;
  return { transaction: payment, refunds, velocity, requesterVelocity, request, now };
}

/** Of no refunds, or where none are counted. */
const noVelocity: Velocity = { refundsInLastDay: 0, amountInLastDay: 0n };

async function earlierRefunds(db: Database, payment: KnownPayment): Promise<PolicyFacts['refunds']> {
  const { _count, _max } = await db.refund.aggregate({
    where: { ...refundsOf(payment), isLive: true },
    _count: true,
    _max: { createdAt: true },
  });
  return { count: _count, amount: payment.reserved, lastAt: _max.createdAt };
}

/** A requester, and null for all refunds of the organization. */
type VelocityQuestion = readonly [
  organizationId: string,
  environment: Environment,
  currency: string,
  actor: string | null,
];

/** Reads what the refunds of the last 24 hours come to. Concurrent questions of an organization share statements. */
export type VelocityReads = (...question: VelocityQuestion) => Promise<Velocity>;

export function openVelocityReads(db: Database): VelocityReads {
  const read = shareByOrganization(
    (question: string) => JSON.parse(question)[0],
    () =>
      shareRead(async (questions) => {
        const found = new Map<string, Velocity>();
        // One after the other: an organization with many refunds must not take all connections.
        for (const question of questions) found.set(question, await readVelocity(db, JSON.parse(question)));
        return found;
      }),
  );
  return async (...question) => (await read(JSON.stringify(question))) ?? noVelocity;
}

async function readVelocity(
  db: Database,
  [organizationId, environment, currency, actor]: VelocityQuestion,
): Promise<Velocity> {
  const owner = { organizationId, environment };
  const isCounted =
    actor === null
      ? ownerSql(owner)
      : Prisma.sql`requester = (SELECT requester_of(${actor})) AND ${comparedOwnerSql(owner)}`;
  const [row] = await db.$queryRaw<Velocity[]>`
    SELECT count(*)::int AS "refundsInLastDay",
      coalesce(sum(amount) FILTER (WHERE currency = ${currency}), 0)::bigint AS "amountInLastDay"
    FROM refund WHERE ${isCounted} AND created_at > (SELECT service_time() - interval '24 hours')
      AND is_live`;
  return row ?? noVelocity;
}
