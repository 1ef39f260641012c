import type {
  Database,
  Prisma,
  ProcessorAccount,
  ReconciliationFinding,
  ReconciliationRun,
} from '#shared/platform/database.ts';
import { findOrganization } from '#shared/platform/organization.ts';
import { needsAttention } from '#shared/reconciliation/findings.ts';
import { wordsFor } from '#shared/refunds/model/flag-wording.ts';
import type { Facts, FindingKind } from '#shared/refunds/model/flags.ts';
import { explain, printData, printFields, printJson, printTable } from '../console/output.ts';
import { CommandError } from '../console/session.ts';

type Account = Pick<ProcessorAccount, 'id' | 'name' | 'organizationId' | 'environment' | 'processor'>;

/** A run with its account and all that it found. */
export interface RunReport {
  run: ReconciliationRun;
  account: Account;
  findings: ReconciliationFinding[];
  needsAttentionCount: number;
}

/** Runs that a list shows. */
const listLength = 50;

const withReport = {
  account: { select: { id: true, name: true, organizationId: true, environment: true, processor: true } },
  findings: { orderBy: { id: 'asc' } },
} as const;

/** @throws CommandError for an unknown id. */
export async function loadReport(db: Database, id: string): Promise<RunReport> {
  const row = await db.reconciliationRun.findUnique({ where: { id }, include: withReport });
  if (row === null) throw new CommandError(`Run not found: ${id}`);
  return reportOf(row);
}

/** Selects the accounts with an ID or name; all of them without one. */
export function whereAccount(account: string | undefined): Prisma.ProcessorAccountWhereInput {
  return account === undefined ? {} : { OR: [{ id: account }, { name: account }] };
}

/** Lists the latest runs, of an organization or of all, and of one account or of all. */
export async function listRuns(
  db: Database,
  {
    organization: organizationId,
    account,
  }: { organization: string | undefined; account: string | undefined },
  json: boolean | undefined,
): Promise<void> {
  if (organizationId !== undefined) await findOrganization(db, organizationId);
  const rows = await db.reconciliationRun.findMany({
    where: {
      account: { ...(organizationId === undefined ? {} : { organizationId }), ...whereAccount(account) },
    },
    orderBy: [{ startedAt: 'desc' }, { id: 'desc' }],
    take: listLength,
    include: withReport,
  });
  const reports = rows.map(reportOf);
  if (json)
    return printJson(
      reports.map(({ findings, ...report }) => ({ ...runToJson(report), findingCount: findings.length })),
    );
  if (reports.length === 0) return explain('No runs yet.');
  printTable(reports, {
    ID: ({ run }) => run.id,
    ORGANIZATION: ({ account }) => account.organizationId,
    ENVIRONMENT: ({ account }) => account.environment,
    PROCESSOR: ({ account }) => account.processor,
    ACCOUNT: ({ account }) => account.name,
    FROM: ({ run }) => run.windowStart,
    TO: ({ run }) => run.windowEnd,
    BY: ({ run }) => run.actor,
    STARTED: ({ run }) => run.startedAt,
    COMPARED: ({ run }) => run.comparedCount,
    RESULT: resultOf,
  });
}

/** Prints a run and its findings; those that need attention come first. */
export function printReport(report: RunReport): void {
  const { run, account, findings } = report;
  printFields([
    ['id', run.id],
    ['organizationId', account.organizationId],
    ['environment', account.environment],
    ['processor', account.processor],
    ['accountId', account.id],
    ['account', account.name],
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
  const sorted = findings.toSorted((a, b) => Number(needsAttention(b)) - Number(needsAttention(a)));
  printTable(sorted, {
    FINDING: ({ kind }) => kind,
    ACTION: ({ action }) => action,
    REFUND: ({ refundId }) => refundId,
    ATTENTION: (finding) => (needsAttention(finding) ? 'yes' : 'no'),
    SUMMARY: (finding) => summaryOfFinding(finding, account),
  });
  printData('');
}

export function reportToJson({ findings, ...report }: RunReport) {
  return {
    ...runToJson(report),
    findings: findings.map(({ runId: _, ...finding }) => ({
      ...finding,
      summary: summaryOfFinding(finding, report.account),
      needsAttention: needsAttention(finding),
    })),
  };
}

function summaryOfFinding(
  { kind, facts }: Pick<ReconciliationFinding, 'kind' | 'facts'>,
  { processor }: Account,
): string {
  return wordsFor(kind as FindingKind, facts as Facts, processor).summary;
}

/** The run in one line. */
export function summaryOf(report: RunReport): string {
  const { account, run } = report;
  return `${account.environment} ${account.name}: ${run.comparedCount} refunds compared; ${resultOf(report)}.`;
}

function runToJson({ run, account, needsAttentionCount }: Omit<RunReport, 'findings'>) {
  const { claimedUntil: _, ...fields } = run;
  return { ...fields, account, needsAttentionCount };
}

function resultOf({ run, findings, needsAttentionCount }: RunReport): string {
  if (run.failure !== null) return `not finished: ${run.failure}`;
  if (run.finishedAt === null) return 'in progress';
  if (findings.length === 0) return 'no discrepancies';
  const found = findings.length === 1 ? '1 finding' : `${findings.length} findings`;
  return needsAttentionCount === 0
    ? `${found}, none needs attention`
    : `${found}, ${needsAttentionCount} ${needsAttentionCount === 1 ? 'needs' : 'need'} attention`;
}

function reportOf({
  account,
  findings,
  ...run
}: ReconciliationRun & { account: Account; findings: ReconciliationFinding[] }): RunReport {
  return { run, account, findings, needsAttentionCount: findings.filter(needsAttention).length };
}
