import type { KnownPayment } from '../payments/payment.ts';
import { shareByOrganization, shareRead } from '../platform/concurrency/shared-statement.ts';
import type { Database } from '../platform/database.ts';
import type { Environment } from '../platform/environment.ts';
import { countsRequester } from './evaluate.ts';
import type { RefundFacts } from './evaluate-refund.ts';
import type { Policy, PolicyFacts, Velocity } from './policy.ts';

// Which refunds count is said by prisma/functions/limits/counted_refunds.sql.

/** The refund to decide about; without an amount, whether the payment can be refunded at all. */
export type PolicyRequest = PolicyFacts['request'];

/** The input of a decision. */
interface PolicyCase {
  policies: readonly Policy[];
  payment: KnownPayment;
  processor: string;
  request: PolicyRequest;
  /** Who requests it: `user:<id>` or `key:<id>`. */
  actor: string;
  /** What was read with the payment. */
  stored: { now: Date; takenByKeyInLastDay: bigint };
}

/**
 * Reads the facts that policies and the limits of a key decide by.
 * @param inFull true for what the conditions of the verdict name, such as the number and time of earlier refunds; false for the
 * facts that some policy limits.
 */
export async function readRefundFacts(
  { db, velocities }: { db: Database; velocities: VelocityReads },
  { policies, payment, processor, request, actor, stored }: PolicyCase,
  inFull: boolean,
): Promise<RefundFacts> {
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
  const { now, takenByKeyInLastDay: keyAmountInLastDay } = stored;
  const transaction = { ...payment, processor };
  return { transaction, refunds, velocity, requesterVelocity, keyAmountInLastDay, request, now };
}

/** Of no refunds, or where none are counted. */
const noVelocity: Velocity = { refundsInLastDay: 0, amountInLastDay: 0n };

async function earlierRefunds(db: Database, payment: KnownPayment): Promise<PolicyFacts['refunds']> {
  const { id, organizationId, environment, currency, reserved: amount } = payment;
  const [made] = await db.$queryRaw<Omit<PolicyFacts['refunds'], 'amount'>[]>`
    SELECT refunds AS count, last_at AS "lastAt"
    FROM counted_refunds('payment', service_time(), ${organizationId}, ${environment}::environment, ${currency}, ${id}::bigint)`;
  return { count: 0, lastAt: null, ...made, amount };
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
  const counted = actor === null ? 'organization' : 'requester';
  const [row] = await db.$queryRaw<Velocity[]>`
    SELECT refunds AS "refundsInLastDay", amount AS "amountInLastDay"
    FROM counted_refunds(${counted}, service_time(), ${organizationId}, ${environment}::environment, ${currency},
      behind => requester_of(${actor}))`;
  return row ?? noVelocity;
}
