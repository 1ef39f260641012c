import type { Database, Prisma, ReconciliationFinding } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';

/** Runs that a page lists, and findings of a run that it shows. */
const mostRuns = 50;
export const mostFindings = 200;

const withCounts = {
  account: { select: { processor: true } },
  _count: { select: { findings: true } },
} satisfies Prisma.ReconciliationRunInclude;

export type ListedRun = Prisma.ReconciliationRunGetPayload<{ include: typeof withCounts }>;

/** The latest runs of an owner's accounts with the number of their findings, newest first. */
export async function listRuns(
  db: Database,
  { organizationId, environment }: RefundOwner,
): Promise<ListedRun[]> {
  // Account by account, in the order of its index: there are as many accounts as processors.
  const accounts = await db.processorAccount.findMany({
    where: { organizationId, environment },
    select: { reconciliations: { orderBy: { startedAt: 'desc' }, take: mostRuns, include: withCounts } },
  });
  return accounts
    .flatMap(({ reconciliations }) => reconciliations)
    .sort((a, b) => b.startedAt.getTime() - a.startedAt.getTime() || (a.id < b.id ? 1 : -1))
    .slice(0, mostRuns);
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
