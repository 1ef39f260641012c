import { Option } from 'commander';
import type { ProcessorAccount } from '#shared/platform/database.ts';
import { type Environment, environments } from '#shared/platform/environment.ts';
import { findOrganization } from '#shared/platform/organization.ts';
import { processorNames } from '#shared/processors/registry.ts';
import { reconcileAccount } from '#shared/reconciliation/reconcile-account.ts';
import { nextWindow } from '#shared/reconciliation/runs.ts';
import type { AdminCommand } from '../console/admin-command.ts';
import { jsonOption, type Owner, organizationOption, type Shown, timeOption } from '../console/options.ts';
import { explain, printJson } from '../console/output.ts';
import { CommandError, type Session } from '../console/session.ts';
import {
  listRuns,
  loadReport,
  printReport,
  type RunReport,
  reportToJson,
  summaryOf,
} from '../reports/reconciliation-report.ts';

/** Exit code of a finished comparison that found something that needs attention. */
export const needsAttentionCode = 3;

const runHelp = `
Exit code: 0 when nothing needs attention, 3 when something does, 1 when a comparison could not be finished. Times are
ISO 8601; a day alone begins at midnight UTC. Without --from it compares the window of the next scheduled run: the last 30
days, unless RECONCILIATION_LOOKBACK_MS says otherwise. docs/reconciliation.md explains each finding.
`;

/** `reconciliation`: compare the processors' refunds with ours. */
export function addReconciliationCommands(program: AdminCommand): void {
  const reconciliation = program
    .command('reconciliation')
    .description("compare the processors' refunds with ours");
  reconciliation
    .command('run')
    .description('compare now, and show the discrepancies')
    .addOption(organizationOption)
    .addOption(new Option('--environment <environment>', 'only this one').choices(environments))
    .addOption(new Option('--processor <name>', 'only this one').choices(processorNames))
    .addOption(timeOption('--from <time>', 'refunds made at or after this time'))
    .addOption(timeOption('--to <time>', 'refunds made before this time; default: now'))
    .addOption(jsonOption)
    .explanation(runHelp)
    .examples(
      'reconciliation run --organization org_...',
      'reconciliation run --organization org_... --environment live --processor stripe --from 2026-11-01 --to 2026-12-01',
    )
    .run(run);
  reconciliation
    .command('list')
    .description('list the latest runs, newest first')
    .option('--organization <id>', 'only of this organization')
    .addOption(jsonOption)
    .examples('reconciliation list', 'reconciliation list --organization org_... --json')
    .run(listRuns);
  reconciliation
    .command('show')
    .description('show a run with its findings')
    .argument('<runId>')
    .addOption(jsonOption)
    .examples('reconciliation show rec_...', 'reconciliation show rec_... --json')
    .run(async ({ db }, runId: string, { json }: Shown) => {
      const report = await loadReport(db, runId);
      if (json) printJson(reportToJson(report));
      else printReport(report);
    });
}

interface RunOptions extends Owner, Shown {
  environment?: Environment;
  processor?: string;
  from?: Date;
  to?: Date;
}

async function run(session: Session, options: RunOptions): Promise<void> {
  const reports: RunReport[] = [];
  for (const account of await chooseAccounts(session, options)) {
    const report = await runOne(session, account, options);
    if (!options.json) printReport(report);
    explain(summaryOf(report));
    reports.push(report);
  }
  if (options.json) printJson(reports.map(reportToJson));
  if (reports.some(({ needsAttentionCount }) => needsAttentionCount > 0))
    process.exitCode = needsAttentionCode;
  if (reports.some(({ run: { failure } }) => failure !== null)) {
    throw new CommandError('Reconciliation is incomplete. Run it again.');
  }
}

async function chooseAccounts({ db }: Session, options: RunOptions): Promise<ProcessorAccount[]> {
  const { organization: organizationId, environment, processor } = options;
  await findOrganization(db, organizationId);
  const accounts = await db.processorAccount.findMany({
    where: {
      organizationId,
      ...(environment === undefined ? {} : { environment }),
      ...(processor === undefined ? {} : { processor }),
    },
    orderBy: [{ environment: 'asc' }, { processor: 'asc' }],
  });
  if (accounts.length === 0) throw new CommandError('The organization has no such processor account.');
  return accounts;
}

async function runOne(session: Session, account: ProcessorAccount, options: RunOptions): Promise<RunReport> {
  const scheduled = await nextWindow(session, account);
  const window = { from: options.from ?? scheduled.from, to: options.to ?? scheduled.to };
  if (window.from >= window.to) throw new CommandError('--from must be before --to, and not in the future.');
  const { signal } = new AbortController();
  const done = await reconcileAccount(session, { account, window, actor: session.actor, signal });
  if (done !== null) return await loadReport(session.db, done.id);
  throw new CommandError(
    `The ${account.environment} ${account.processor} account is already being reconciled. Try again in a minute.`,
  );
}
