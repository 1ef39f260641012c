import { readWorkers, type Workers } from '../health/heartbeat.ts';
import { type AccountInTrouble, findAccountsInTrouble, isUnanswered } from '../health/trouble.ts';
import { type Database, Prisma, type ProcessorAccount, type WebhookEndpoint } from '../platform/database.ts';
import type { Environment } from '../platform/environment.ts';
import { withoutCredentials } from '../processors/accounts/account.ts';
import type { AccountSummary } from '../processors/accounts/manage-accounts.ts';
import type { RefundOwner, RefundWithWork } from '../refunds/model/refund.ts';
import { accountsInUseSql, ownerSql } from '../refunds/queries/refund-filter.ts';
import type { CappedCount } from '../refunds/queries/search-refunds.ts';
import { type DisputedPayment, findDisputedPayments } from './disputed-payments.ts';
import { type FailingReceiver, findFailingReceivers } from './failing-receivers.ts';
import { findUnseenBatches, type UnseenBatch } from './unseen-batches.ts';

/** Refunds that need attention for the same cause. */
export interface AttentionCount extends CappedCount {
  /** When the oldest of them began to need attention; null when there is none. */
  oldest: Date | null;
  /** Their sum by currency, in minor units; of those that were counted. */
  amounts: { currency: string; amount: bigint }[];
}

type NamedAccount = Pick<ProcessorAccount, 'id' | 'name' | 'processor'>;

/** Of the row `account`. */
const namedAccountSql = Prisma.sql`jsonb_build_object('id', account.id, 'name', account.name, 'processor', account.processor) AS account`;

/** An account whose last reconciliation did not finish. */
interface FailedReconciliation {
  account: NamedAccount;
  failure: string;
  /** When the first run began that failed since the last success. */
  since: Date;
}

/** Refunds of an account that are on no record of ours, as reconciliation found in the last days. */
interface Discrepancies {
  account: NamedAccount;
  count: number;
  /** When the run began that found the first of them. */
  since: Date;
}

/** What needs attention in one organization and environment. */
export interface NeedsAttention {
  /** When it was read, in the database's time. */
  now: Date;
  /** Those of the whole service. */
  workers: Workers;
  /** Accounts whose processor answers nothing. */
  unansweredAccounts: AccountInTrouble[];
  approvals: AttentionCount;
  /** A refund may be among these and await approval as well. Those that wait for an account's balance are left out. */
  flagged: AttentionCount;
  /** Refunds that wait for the balance of an account, by the account. */
  lowBalances: (AttentionCount & { account: NamedAccount })[];
  disputedPayments: DisputedPayment[];
  unseenBatches: UnseenBatch[];
  failingReceivers: FailingReceiver[];
  /** Those of which an ability is refused, or all; the longest refused first. */
  refusedAccounts: AccountSummary[];
  failedReconciliations: FailedReconciliation[];
  /** Other discrepancies flag their refund. */
  discrepancies: Discrepancies[];
  /** Webhook endpoints that the service disabled, the longest disabled first. */
  disabledEndpoints: DisabledEndpoint[];
}

type DisabledEndpoint = Pick<WebhookEndpoint, 'id' | 'url' | 'disabledReason' | 'updatedAt'>;

/** Where counting ends: beyond it, a page shows "100+". */
const countCap = 100;

/** Reads what needs attention, at a cost that does not depend on how many refunds there are. */
export async function readNeedsAttention(db: Database, owner: RefundOwner): Promise<NeedsAttention> {
  const [read, troubled, approvals, { flagged, lowBalances }, ...others] = await Promise.all([
    readWorkers(db),
    findAccountsInTrouble(db, owner),
    countPending(db, owner),
    countFlagged(db, owner),
    findRefusedAccounts(db, owner),
    readFailedReconciliations(db, owner),
    countDiscrepancies(db, owner),
    findDisabledEndpoints(db, owner),
    findDisputedPayments(db, owner),
    findUnseenBatches(db, owner),
    findFailingReceivers(db, owner),
  ]);
  const { now, ...workers } = read;
  const unansweredAccounts = troubled.filter((account) => isUnanswered(account, now));
  const [refusedAccounts, failedReconciliations, discrepancies, disabledEndpoints, ...more] = others;
  const [disputedPayments, unseenBatches, failingReceivers] = more;
  return {
    ...{ now, workers, unansweredAccounts, approvals, flagged, lowBalances, unseenBatches, failingReceivers },
    ...{ refusedAccounts, failedReconciliations, discrepancies, disabledEndpoints, disputedPayments },
  };
}

async function countPending(db: Database, owner: RefundOwner): Promise<AttentionCount> {
  const sums = await sumUp(
    db,
    Prisma.sql`SELECT currency, amount, created_at AS since, NULL AS account_id FROM refund
      WHERE ${ownerSql(owner)} AND status = 'pending' ORDER BY since LIMIT ${countCap + 1}`,
  );
  return asCount(sums, isOverCap(sums));
}

/** The refunds flagged longest ago: those that wait for a balance by their account, and the others. */
async function countFlagged(
  db: Database,
  owner: RefundOwner,
): Promise<Pick<NeedsAttention, 'flagged' | 'lowBalances'>> {
  const sums = await sumUp(
    db,
    Prisma.sql`SELECT currency, amount, flagged_at AS since, CASE flag_reason WHEN 'insufficient_balance' THEN account_id END AS account_id
      FROM (
        SELECT refund_id, flagged_at, flag_reason, account_id FROM refund_work
        WHERE ${ownerSql(owner)} AND flagged_at IS NOT NULL ORDER BY flagged_at LIMIT ${countCap + 1}) AS work
      CROSS JOIN LATERAL (SELECT currency, amount FROM refund WHERE id = work.refund_id) AS refund`,
  );
  const isMore = isOverCap(sums);
  const flagged = asCount(
    sums.filter(({ accountId }) => accountId === null),
    isMore,
  );
  const accounts = await db.processorAccount.findMany({
    where: { id: { in: sums.flatMap(({ accountId }) => accountId ?? []) } },
    select: { id: true, name: true, processor: true },
    orderBy: { id: 'asc' },
  });
  const lowBalances = accounts.map((account) => ({
    ...asCount(
      sums.filter(({ accountId }) => accountId === account.id),
      isMore,
    ),
    account,
  }));
  return { flagged, lowBalances };
}

/** The sum of some refunds in one currency; of one account, where they are kept apart. */
interface Sum {
  accountId: string | null;
  currency: string;
  amount: string;
  count: number;
  since: Date;
}

/** @param refunds a query with the columns `currency`, `amount`, `since` and `account_id`. */
async function sumUp(db: Database, refunds: Prisma.Sql): Promise<Sum[]> {
  return await db.$queryRaw<Sum[]>`
    SELECT account_id AS "accountId", currency, sum(amount)::text AS amount, count(*)::int AS count, min(since) AS since
    FROM (${refunds}) AS each GROUP BY account_id, currency ORDER BY count DESC, currency`;
}

function isOverCap(sums: readonly Sum[]): boolean {
  return sums.reduce((sum, { count }) => sum + count, 0) > countCap;
}

/** @param isMore true when there are refunds that were not counted. */
function asCount(rows: readonly Sum[], isMore: boolean): AttentionCount {
  const count = rows.reduce((sum, row) => sum + row.count, 0);
  const times = rows.map(({ since }) => since.getTime());
  return {
    count: Math.min(count, countCap),
    atLeast: count > 0 && isMore,
    oldest: times.length === 0 ? null : new Date(Math.min(...times)),
    amounts: rows.map(({ currency, amount }) => ({ currency, amount: BigInt(amount) })),
  };
}

async function readFailedReconciliations(db: Database, owner: RefundOwner): Promise<FailedReconciliation[]> {
  return await db.$queryRaw<FailedReconciliation[]>`
    SELECT ${namedAccountSql}, last.failure, (
      SELECT min(started_at) FROM reconciliation_run AS failing
      WHERE failing.account_id = account.id AND failing.finished_at IS NOT NULL AND failing.started_at > coalesce((
        SELECT max(started_at) FROM reconciliation_run
        WHERE account_id = account.id AND finished_at IS NOT NULL AND failure IS NULL), '-infinity')) AS since
    FROM ${accountsInUseSql(owner)} AS account
    CROSS JOIN LATERAL (
      SELECT failure FROM reconciliation_run
      WHERE account_id = account.id AND finished_at IS NOT NULL ORDER BY started_at DESC LIMIT 1) AS last
    WHERE last.failure IS NOT NULL
    ORDER BY account.processor, account.name`;
}

async function countDiscrepancies(db: Database, owner: RefundOwner): Promise<Discrepancies[]> {
  return await db.$queryRaw<Discrepancies[]>`
    SELECT ${namedAccountSql}, found.count, found.since
    FROM ${accountsInUseSql(owner)} AS account
    CROSS JOIN LATERAL (
      SELECT count(DISTINCT finding.external_refund_id)::int AS count, min(run.started_at) AS since
      FROM (SELECT id, started_at FROM reconciliation_run
        WHERE account_id = account.id AND started_at > now() - interval '7 days'
        ORDER BY started_at DESC LIMIT 200) AS run
      JOIN reconciliation_finding AS finding ON finding.run_id = run.id
      WHERE finding.kind = 'not_on_record' AND finding.action NOT IN ('put_back', 'dismissed')
        AND NOT EXISTS (SELECT FROM refund WHERE external_refund_id = finding.external_refund_id)) AS found
    WHERE found.count > 0
    ORDER BY account.processor, account.name`;
}

/** What the navigation counts, up to 100 each. */
export interface NeedingAttention {
  approvals: number;
  /** Refunds that await approval or are flagged. */
  attention: number;
}

/** Counts for the navigation of every page. */
export async function countNeedingAttention(db: Database, owner: RefundOwner): Promise<NeedingAttention> {
  const [counted] = await db.$queryRaw<NeedingAttention[]>`
    WITH pending AS (
      SELECT id FROM refund WHERE ${ownerSql(owner)} AND status = 'pending'
      ORDER BY created_at, id LIMIT ${countCap}
    ), flagged AS (
      SELECT refund_id AS id FROM refund_work WHERE ${ownerSql(owner)} AND flagged_at IS NOT NULL
      ORDER BY flagged_at, refund_id LIMIT ${countCap})
    SELECT (SELECT count(*)::int FROM pending) AS approvals,
      (SELECT count(*)::int FROM (SELECT id FROM pending UNION SELECT id FROM flagged) AS either) AS attention`;
  return counted ?? { approvals: 0, attention: 0 };
}

/** Those that a client disabled need no attention. */
async function findDisabledEndpoints(
  db: Database,
  { organizationId, environment }: RefundOwner,
): Promise<DisabledEndpoint[]> {
  return await db.webhookEndpoint.findMany({
    where: { organizationId, environment, deletedAt: null, disabledReason: { in: ['gone', 'failing'] } },
    select: { id: true, url: true, disabledReason: true, updatedAt: true },
    orderBy: [{ updatedAt: 'asc' }, { id: 'asc' }],
  });
}

/** Limits what is read. A missing field does not limit. */
interface AttentionScope {
  organizationId?: string;
  environment?: Environment;
}

/** Refunds that await approval or are flagged, the oldest first. */
export async function findRefundsNeedingAttention(
  db: Database,
  scope: AttentionScope,
): Promise<RefundWithWork[]> {
  const [pending, flagged] = await Promise.all([
    findPending(db, scope),
    db.refundWork.findMany({ where: { ...scope, flaggedAt: { not: null } }, include: { refund: true } }),
  ]);
  const found = [...pending, ...flagged.map(({ refund, ...work }) => ({ ...refund, work }))];
  // One that awaits approval may be flagged as well.
  const once = [...new Map(found.map((refund) => [refund.id, refund])).values()];
  return once.sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1));
}

async function findPending(
  db: Database,
  { organizationId, environment }: AttentionScope,
): Promise<RefundWithWork[]> {
  // The status is a literal, because a parameter would not match the index of all but those that have completed.
  const found = await db.$queryRaw<{ id: string }[]>`
    SELECT id FROM refund WHERE status = 'pending'
      AND (${organizationId ?? null}::text IS NULL OR organization_id = ${organizationId ?? null})
      AND (${environment ?? null}::environment IS NULL OR environment = ${environment ?? null}::environment)`;
  return await db.refund.findMany({
    where: { id: { in: found.map(({ id }) => id) } },
    include: { work: true },
  });
}

/** A platform that loses its key may have very many connected accounts. */
const mostRefusedAccounts = 1_000;

/**
 * Accounts of which an ability is refused, or all, the longest refused first; connected ones as prisma/functions/accounts/watches_account.sql
 * says.
 */
export async function findRefusedAccounts(
  db: Database,
  { organizationId, environment }: AttentionScope,
): Promise<AccountSummary[]> {
  const found = await db.$queryRaw<{ id: string }[]>`
    SELECT id FROM processor_account AS a WHERE misconfigured_at IS NOT NULL AND watches_account(a)
      AND (${organizationId ?? null}::text IS NULL OR organization_id = ${organizationId ?? null})
      AND (${environment ?? null}::environment IS NULL OR environment = ${environment ?? null}::environment)
    ORDER BY misconfigured_at, id LIMIT ${mostRefusedAccounts}`;
  return await db.processorAccount.findMany({
    where: { id: { in: found.map(({ id }) => id) } },
    omit: withoutCredentials,
    orderBy: [{ misconfiguredAt: 'asc' }, { id: 'asc' }],
  });
}
