import type {
  Database,
  ProcessorAccount,
  ReconciliationFinding,
  ReconciliationRun,
} from '../../../shared/platform/database.ts';
import { findOrganization } from '../../../shared/platform/organization.ts';
import { needsPerson } from '../../../shared/reconciliation/act.ts';
import { explain, printData, printFields, printJson, printTable } from '../console/output.ts';
import { CommandError } from '../console/session.ts';

type Account = Pick<ProcessorAccount, 'organizationId' | 'environment' | 'processor'>;

/** A run with its account and all that it found. */
export interface RunReport {
  run: ReconciliationRun;
  account: Account;
  findings: ReconciliationFinding[];
  needsPersonCount: number;
}

/** Runs that a list shows. */
const listLength = 50;

const withReport = {
  account: { select: { organizationId: true, environment: true, processor: true } },
  findings: { orderBy: { id: 'asc' } },
} as const;

/** @throws CommandError for an unknown id. */
export async function loadReport(db: Database, id: string): Promise<RunReport> {
  const row = await db.reconciliationRun.findUnique({ where: { id }, include: withReport });
  if (row === null) throw new CommandError(`No such run: ${id}`);
  return reportOf(row);
}

/** Lists the latest runs, of an organization or of all. */
export async function listRuns(
  db: Database,
  organizationId: string | undefined,
  json: boolean,
): Promise<void> {
  if (organizationId !== undefined) await findOrganization(db, organizationId);
  const rows = await db.reconciliationRun.findMany({
    where: organizationId === undefined ? {} : { account: { organizationId } },
    orderBy: [{ startedAt: 'desc' }, { id: 'desc' }],
    take: listLength,
    include: withReport,
  });
  const reports = rows.map(reportOf);
  if (json)
    return printJson(
      reports.map(({ findings, ...report }) => ({ ...runToJson(report), findingCount: findings.length })),
    );
  if (reports.length === 0) return explain('Nothing has been compared yet.');
  printTable(
    ['ID', 'ORGANIZATION', 'ENVIRONMENT', 'PROCESSOR', 'FROM', 'TO', 'BY', 'STARTED', 'COMPARED', 'RESULT'],
    reports.map((report) => [
      report.run.id,
      report.account.organizationId,
      report.account.environment,
      report.account.processor,
      report.run.windowStart,
      report.run.windowEnd,
      report.run.actor,
      report.run.startedAt,
      report.run.comparedCount,
      resultOf(report),
    ]),
  );
}

/** Prints a run and, below it, its findings; those for a person come first. */
export function printReport(report: RunReport): void {
  const { run, account, findings } = report;
  printFields([
    ['id', run.id],
    ['organizationId', account.organizationId],
    ['environment', account.environment],
    ['processor', account.processor],
    ['windowStart', run.windowStart],
    ['windowEnd', run.windowEnd],
    ['actor', run.actor],
    ['startedAt', run.startedAt],
    ['finishedAt', run.finishedAt],
    ['comparedCount', run.comparedCount],
    ['result', resultOf(report)],
  ]);
  printData('');
  if (findings.length === 0) return;
  const [forPerson, others] = [findings.filter(needsPerson), findings.filter((each) => !needsPerson(each))];
  printTable(
    ['FINDING', 'DONE', 'REFUND', 'PERSON', 'WHAT'],
    [...forPerson, ...others].map((finding) => [
      finding.kind,
      finding.action,
      finding.refundId,
      needsPerson(finding) ? 'yes' : 'no',
      finding.message,
    ]),
  );
  printData('');
}

/** A run with its findings as JSON. */
export function reportToJson({ findings, ...report }: RunReport) {
  return {
    ...runToJson(report),
    findings: findings.map(({ runId: _, ...finding }) => ({ ...finding, needsPerson: needsPerson(finding) })),
  };
}

/** The run in one line, for the person at the terminal. */
export function summaryOf(report: RunReport): string {
  const { account, run } = report;
  return `${account.environment} ${account.processor}: ${run.comparedCount} refunds compared; ${resultOf(report)}.`;
}

function runToJson({ run, account, needsPersonCount }: Omit<RunReport, 'findings'>) {
  const { claimedUntil: _, ...fields } = run;
  return { ...fields, account, needsPersonCount };
}

function resultOf({ run, findings, needsPersonCount }: RunReport): string {
  if (run.failure !== null) return `not finished: ${run.failure}`;
  if (run.finishedAt === null) return 'under way';
  if (findings.length === 0) return 'in agreement';
  const found = findings.length === 1 ? 'one finding' : `${findings.length} findings`;
  return needsPersonCount === 0
    ? `${found}, none for a person`
    : `${found}, ${needsPersonCount} for a person`;
}

function reportOf({
  account,
  findings,
  ...run
}: ReconciliationRun & { account: Account; findings: ReconciliationFinding[] }): RunReport {
  return { run, account, findings, needsPersonCount: findings.filter(needsPerson).length };
}
