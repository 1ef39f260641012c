import type { Database } from '../platform/database.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';

/** A processor account that leaves refunds without an answer. */
export interface AccountInTrouble extends RefundOwner {
  processor: string;
  /** When the first of the refunds below was left without an answer. */
  since: Date;
  /** The refunds that are retried; 1,000 at most. */
  refunds: number;
  /** Those of them for which it is unknown whether the processor has them. */
  unknown: number;
  /** Null when all of them are due. */
  nextAttemptAt: Date | null;
  /** True when the processor has accepted other refunds of the account since then. */
  acceptsOthers: boolean;
}

/** As `accounts_in_trouble` returns them; times are ISO 8601 in JSON. */
export interface AccountInTroubleRow {
  organization_id: string;
  environment: RefundOwner['environment'];
  processor: string;
  since: string | Date;
  refunds: number;
  unknown: number;
  next_attempt_at: string | Date | null;
  accepts_others: boolean;
}

/** The first failure is often the last: an account counts as unanswered once it has lasted for this long. */
const leastMs = 15_000;

/** Refunds of an account that are counted, and accounts of all organizations that are looked at. */
export const mostCounted = 1_000;

/** The accounts of an owner that leave refunds without an answer, in the order of the processors' names. */
export async function findAccountsInTrouble(db: Database, owner: RefundOwner): Promise<AccountInTrouble[]> {
  const { organizationId, environment } = owner;
  const rows = await db.$queryRaw<AccountInTroubleRow[]>`
    SELECT * FROM accounts_in_trouble(${organizationId}, ${environment}::environment, ${mostCounted}, ${mostCounted})`;
  return rows.map(accountInTroubleFrom);
}

export function accountInTroubleFrom(row: AccountInTroubleRow): AccountInTrouble {
  const { environment, processor, since, refunds, unknown } = row;
  return {
    ...{ organizationId: row.organization_id, environment, processor, refunds, unknown },
    since: new Date(since),
    nextAttemptAt: row.next_attempt_at === null ? null : new Date(row.next_attempt_at),
    acceptsOthers: row.accepts_others,
  };
}

/** True when the processor answers nothing for the account, and that has lasted for a while. */
export function isUnanswered(
  { since, acceptsOthers }: Pick<AccountInTrouble, 'since' | 'acceptsOthers'>,
  now: Date,
): boolean {
  return !acceptsOthers && now.getTime() - since.getTime() >= leastMs;
}
