import type { Database } from '../platform/database.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';

/** A processor account that leaves refunds without an answer. */
export interface AccountInTrouble extends RefundOwner {
  accountId: string;
  processor: string;
  /** That of the account. */
  name: string;
  /** When the first of the refunds below was left without an answer. */
  since: Date;
  /** The refunds that are retried; 1,000 at most. */
  refunds: number;
  /** Those of them for which it is unknown whether the processor has them. */
  unknown: number;
  /** When the next of them is due. In the past when all are: nothing was asked since. Null when none is tried again. */
  nextAttemptAt: Date | null;
  /** True when the processor has accepted other refunds of the account since then. */
  acceptsOthers: boolean;
}

/** The first failure is often the last: an account counts as unanswered once it has lasted for this long. */
const leastMs = 15_000;

/** Refunds of an account that are counted, and accounts of all organizations that are looked at. */
export const mostCounted = 1_000;

/** The accounts of an owner that leave refunds without an answer, the accounts in the order of their ids. */
export async function findAccountsInTrouble(db: Database, owner: RefundOwner): Promise<AccountInTrouble[]> {
  const { organizationId, environment } = owner;
  return await db.$queryRaw<AccountInTrouble[]>`
    SELECT account_id AS "accountId", organization_id AS "organizationId", environment::text, processor, name, since, refunds, unknown,
      next_attempt_at AS "nextAttemptAt", accepts_others AS "acceptsOthers"
    FROM accounts_in_trouble(${organizationId}, ${environment}::environment, ${mostCounted}, ${mostCounted})`;
}

/** True when the processor answers nothing for the account, and that has lasted for a while in which it was asked. */
export function isUnanswered(
  {
    since,
    nextAttemptAt,
    acceptsOthers,
  }: Pick<AccountInTrouble, 'since' | 'nextAttemptAt' | 'acceptsOthers'>,
  now: Date,
): boolean {
  const askedUntil = Math.min(now.getTime(), (nextAttemptAt ?? now).getTime());
  return !acceptsOthers && askedUntil - since.getTime() >= leastMs;
}
