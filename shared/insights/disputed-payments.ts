import { type Database, Prisma } from '../platform/database.ts';
import type { Environment } from '../platform/environment.ts';

/** A payment that was charged back while refunds of it have not ended. */
export interface DisputedPayment {
  organizationId: string;
  environment: Environment;
  processor: string;
  /** As one of these refunds names it. */
  transactionId: string;
  since: Date;
  /** How many they are, and their sum in minor units. */
  count: number;
  amount: bigint;
  currency: string;
}

/** The newest disputes that are looked at, and the most that are listed. */
const limits = { looked: 100, listed: 10 };

/** Payments that were charged back and have open refunds, the newest disputes first. A missing field of the scope does not limit. */
export async function findDisputedPayments(
  db: Database,
  { organizationId, environment }: { organizationId?: string; environment?: Environment },
): Promise<DisputedPayment[]> {
  const scope = [
    Prisma.sql`disputed_at IS NOT NULL`,
    ...(organizationId === undefined ? [] : [Prisma.sql`organization_id = ${organizationId}`]),
    ...(environment === undefined ? [] : [Prisma.sql`environment = ${environment}::environment`]),
  ];
  return await db.$queryRaw<DisputedPayment[]>`
    SELECT p.organization_id AS "organizationId", p.environment::text, open.*, p.disputed_at AS since
    FROM (
      SELECT * FROM payment WHERE ${Prisma.join(scope, ' AND ')} ORDER BY disputed_at DESC LIMIT ${limits.looked}) AS p
    CROSS JOIN LATERAL (
      SELECT min(transaction_id) AS "transactionId", min(processor) AS processor, count(*)::int AS count, sum(amount)::bigint AS amount,
        min(currency) AS currency
      FROM refund WHERE payment_id = p.id AND status IN ('pending', 'processing')) AS open
    WHERE open.count > 0
    ORDER BY p.disputed_at DESC LIMIT ${limits.listed}`;
}
