import type { Database, ReconciliationFinding, ReconciliationRun } from '../db.ts';
import { forPerson } from '../reconciliation/act.ts';
import { scheduleActor } from '../reconciliation/schedule.ts';
import type { RefundOwner } from '../refunds/find-refunds.ts';
import { itemsShown, type Waiting } from './waiting.ts';

/** An account whose last comparison could not be brought to its end. */
export interface FailedReconciliation {
  processor: string;
  /** The last run, with its failure. */
  run: ReconciliationRun;
  /** When the first of the runs began that have failed since one succeeded. */
  since: Date;
}

/** A finding that a person has not dealt with. */
export interface OpenFinding {
  processor: string;
  finding: ReconciliationFinding;
  /** When the run began that found it first, among the latest ones. */
  since: Date;
}

/** What reconciliation wants a person for. */
export interface ReconciliationTrouble {
  failedReconciliations: Waiting<FailedReconciliation>;
  openFindings: Waiting<OpenFinding>;
}

/** Runs of an account that are looked at. A run on schedule that fails is repeated after minutes, so there may be many. */
const runsRead = 100;

/** Findings for a person that are looked at, of each account. */
const findingsRead = 1_000;

/**
 * Reads what the latest runs of each account say. A run on schedule that succeeded tells everything anew that a person has
 * not dealt with, so that nothing older counts.
 */
export async function readReconciliationTrouble(
  db: Database,
  { organizationId, environment }: RefundOwner,
): Promise<ReconciliationTrouble> {
  const accounts = await db.processorAccount.findMany({
    where: { organizationId, environment },
    select: { id: true, processor: true },
    orderBy: { processor: 'asc' },
  });
  const failed: FailedReconciliation[] = [];
  const open: OpenFinding[] = [];
  for (const { id, processor } of accounts) {
    const runs = await readLatestRuns(db, id);
    const failure = failureOf(runs);
    if (failure !== null) failed.push({ processor, ...failure });
    const found = await readOpenFindings(db, runs);
    open.push(...found.map((each) => ({ processor, ...each })));
  }
  return { failedReconciliations: counted(failed), openFindings: counted(open) };
}

/** The finished runs since the last good one on schedule, with it, newest first; without any, since the last good one. */
async function readLatestRuns(db: Database, accountId: string): Promise<ReconciliationRun[]> {
  const runs = await db.reconciliationRun.findMany({
    where: { accountId, finishedAt: { not: null } },
    orderBy: { startedAt: 'desc' },
    take: runsRead,
  });
  const isGood = ({ failure }: ReconciliationRun) => failure === null;
  const scheduled = runs.findIndex((run) => isGood(run) && run.actor === scheduleActor);
  const last = scheduled === -1 ? runs.findIndex(isGood) : scheduled;
  return last === -1 ? runs : runs.slice(0, last + 1);
}

function failureOf(runs: readonly ReconciliationRun[]): Omit<FailedReconciliation, 'processor'> | null {
  const good = runs.findIndex(({ failure }) => failure === null);
  const failing = good === -1 ? runs : runs.slice(0, good);
  const [run, first] = [failing.at(0), failing.at(-1)];
  return run === undefined || first === undefined ? null : { run, since: first.startedAt };
}

/**
 * What the runs have found for a person, each difference once. It is dealt with when its refund is no longer flagged and
 * no review of it is due that may flag it.
 */
async function readOpenFindings(
  db: Database,
  runs: readonly ReconciliationRun[],
): Promise<Omit<OpenFinding, 'processor'>[]> {
  const startedAt = new Map(runs.map((run) => [run.id, run.startedAt]));
  const findings = await db.reconciliationFinding.findMany({
    where: { runId: { in: [...startedAt.keys()] }, ...forPerson },
    orderBy: { id: 'asc' },
    take: findingsRead,
  });
  const isUnsettled = await readUnsettled(db, findings);
  const differences = new Map<string, Omit<OpenFinding, 'processor'>>();
  for (const finding of findings) {
    const { refundId, kind, externalRefundId, runId } = finding;
    const since = startedAt.get(runId);
    const name = [refundId, kind, externalRefundId].join(' ');
    if (refundId === null || since === undefined || !isUnsettled.has(refundId) || differences.has(name))
      continue;
    differences.set(name, { finding, since });
  }
  return [...differences.values()];
}

/** The ids of those refunds that are flagged, or about to be read again. */
async function readUnsettled(
  db: Database,
  findings: readonly ReconciliationFinding[],
): Promise<ReadonlySet<string>> {
  const ids = findings.flatMap(({ refundId }) => (refundId === null ? [] : [refundId]));
  const unsettled = await db.refund.findMany({
    where: { id: { in: ids }, OR: [{ flaggedAt: { not: null } }, { reviewDueAt: { not: null } }] },
    select: { id: true },
  });
  return new Set(unsettled.map(({ id }) => id));
}

function counted<Item extends { since: Date }>(items: readonly Item[]): Waiting<Item> {
  const oldestFirst = items.toSorted((a, b) => a.since.getTime() - b.since.getTime());
  return {
    count: items.length,
    atLeast: items.length >= findingsRead,
    oldest: oldestFirst[0]?.since ?? null,
    items: oldestFirst.slice(0, itemsShown),
  };
}
