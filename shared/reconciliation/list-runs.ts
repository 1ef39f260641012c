import type { Database, Prisma, ReconciliationFinding } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { accountsInUseSql } from '../refunds/queries/refund-filter.ts';

/** Runs that a page lists, and findings of a run that it shows. */
const mostRuns = 50;
export const mostFindings = 200;

const withCounts = {
  account: { select: { processor: true, name: true } },
  _count: { select: { findings: true } },
} satisfies Prisma.ReconciliationRunInclude;

export type ListedRun = Prisma.ReconciliationRunGetPayload<{ include: typeof withCounts }>;

/** The latest runs of an owner's accounts with the number of their findings, newest first. */
export async function listRuns(db: Database, owner: RefundOwner): Promise<ListedRun[]> {
  // Account by account, in the order of its index.
  const latest = await db.$queryRaw<{ id: string }[]>`
    SELECT run.id FROM ${accountsInUseSql(owner)} AS account
    CROSS JOIN LATERAL (
      SELECT id, started_at FROM reconciliation_run WHERE account_id = account.id
      ORDER BY started_at DESC LIMIT ${mostRuns}) AS run
    ORDER BY run.started_at DESC, run.id DESC LIMIT ${mostRuns}`;
  return await db.reconciliationRun.findMany({
    where: { id: { in: latest.map(({ id }) => id) } },
    include: withCounts,
    orderBy: [{ startedAt: 'desc' }, { id: 'desc' }],
  });
}

/** A run with its first findings. @throws ServiceError not_found for one of another owner. */
export async function findRun(
  db: Database,
  { organizationId, environment }: RefundOwner,
  id: string,
): Promise<{ run: ListedRun; findings: ReconciliationFinding[] }> {
  const found = await db.reconciliationRun.findFirst({
    where: { id, account: { organizationId, environment } },
    include: { ...withCounts, findings: { orderBy: { id: 'asc' }, take: mostFindings } },
  });
  if (found === null) throw new ServiceError('not_found', 'Reconciliation run not found.');
  const { findings, ...run } = found;
  return { run, findings };
}
