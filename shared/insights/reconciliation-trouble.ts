import { type Database, Prisma } from '../platform/database.ts';
import { kindsForPerson } from '../reconciliation/act.ts';
import { scheduleActor } from '../reconciliation/schedule.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { ownerSql } from '../refunds/queries/refund-filter.ts';
import { itemsShown, type Waiting } from './waiting.ts';

/** An account whose last comparison could not be brought to its end. */
export interface FailedReconciliation {
  processor: string;
  /** The last run, and why it could not be brought to its end. */
  runId: string;
  failure: string;
  /** When the first of the runs began that have failed since one succeeded. */
  since: Date;
}

/** A finding that a person has not dealt with. */
export interface OpenFinding {
  processor: string;
  findingId: string;
  refundId: string;
  message: string;
  /** When the run began that found it first, among those that count. */
  since: Date;
}

/** What reconciliation wants a person for. */
export interface ReconciliationTrouble {
  failedReconciliations: Waiting<FailedReconciliation>;
  openFindings: Waiting<OpenFinding>;
}

/** Findings that are counted. */
const findingsCounted = 1_000;

/**
 * Reads what the latest runs of each account say. A run on schedule that succeeded tells everything anew that a person has
 * not dealt with, so that nothing older counts.
 */
export async function readReconciliationTrouble(
  db: Database,
  owner: RefundOwner,
): Promise<ReconciliationTrouble> {
  return {
    failedReconciliations: counted(await readFailures(db, owner)),
    openFindings: counted(await readOpenFindings(db, owner)),
  };
}

async function readFailures(db: Database, owner: RefundOwner): Promise<FailedReconciliation[]> {
  return await db.$queryRaw<FailedReconciliation[]>`
    SELECT account.processor, last.id AS "runId", last.failure, (
      SELECT min(started_at) FROM reconciliation_run AS failing
      WHERE failing.account_id = account.id AND failing.finished_at IS NOT NULL
        AND failing.started_at > coalesce(${lastGoodSql()}, '-infinity')) AS since
    FROM (SELECT id, processor FROM processor_account WHERE ${ownerSql(owner)}) AS account
    CROSS JOIN LATERAL (
      SELECT id, failure FROM reconciliation_run
      WHERE account_id = account.id AND finished_at IS NOT NULL ORDER BY started_at DESC LIMIT 1) AS last
    WHERE last.failure IS NOT NULL
    ORDER BY account.processor`;
}

/**
 * What the runs have found for a person, each difference once. It is dealt with when its refund is no longer flagged and
 * no review of it is due that may flag it.
 */
async function readOpenFindings(db: Database, owner: RefundOwner): Promise<OpenFinding[]> {
  const onSchedule = Prisma.sql`AND actor = ${scheduleActor}`;
  return await db.$queryRaw<OpenFinding[]>`
    SELECT DISTINCT ON (finding.refund_id, finding.kind, finding.external_refund_id)
      account.processor, finding.id AS "findingId", finding.refund_id AS "refundId", finding.message,
      run.started_at AS since
    FROM (SELECT id, processor FROM processor_account WHERE ${ownerSql(owner)}) AS account
    JOIN reconciliation_run AS run ON run.account_id = account.id AND run.finished_at IS NOT NULL
      AND run.started_at >= coalesce(${lastGoodSql(onSchedule)}, ${lastGoodSql()}, '-infinity')
    JOIN reconciliation_finding AS finding ON finding.run_id = run.id
      AND finding.action <> 'dealt_with' AND finding.kind = ANY (${kindsForPerson})
    JOIN refund_work AS work ON work.refund_id = finding.refund_id
      AND (work.flagged_at IS NOT NULL OR work.resync_requested_at IS NOT NULL OR EXISTS (
        SELECT FROM refund WHERE refund.id = work.refund_id AND refund.status <> 'processing'))
    ORDER BY finding.refund_id, finding.kind, finding.external_refund_id, run.started_at, finding.id
    LIMIT ${findingsCounted}`;
}

/** When the last run of `account` began that succeeded; null without any. */
function lastGoodSql(condition: Prisma.Sql = Prisma.empty): Prisma.Sql {
  return Prisma.sql`(SELECT max(started_at) FROM reconciliation_run
    WHERE account_id = account.id AND finished_at IS NOT NULL AND failure IS NULL ${condition})`;
}

function counted<Item extends { since: Date }>(items: readonly Item[]): Waiting<Item> {
  const oldestFirst = items.toSorted((a, b) => a.since.getTime() - b.since.getTime());
  return {
    count: items.length,
    atLeast: items.length >= findingsCounted,
    oldest: oldestFirst[0]?.since ?? null,
    items: oldestFirst.slice(0, itemsShown),
  };
}
