import type { ProcessorAccount } from '#shared/platform/database.ts';
import { environments } from '#shared/platform/environment.ts';
import { findOrganization } from '#shared/platform/organization.ts';
import { processorNames } from '#shared/processors/registry.ts';
import { reconcileAccount } from '#shared/reconciliation/reconcile-account.ts';
import { nextWindow } from '#shared/reconciliation/runs.ts';
import { command, commands, type ValuesOf } from '../console/command.ts';
import { choice, json, organization, text, time } from '../console/options.ts';
import { explain, printJson } from '../console/output.ts';
import { CommandError, type Session } from '../console/session.ts';
import {
  listRuns,
  loadReport,
  printReport,
  type RunReport,
  reportToJson,
  summaryOf,
  whereAccount,
} from '../reports/reconciliation-report.ts';

/** Exit code of a finished comparison that found something that needs attention. */
export const needsAttentionCode = 3;

const runHelp = `
Exit code: 0 when nothing needs attention, 3 when something does, 1 when a comparison could not be finished. Times are
ISO 8601; a day alone begins at midnight UTC. Without --from it compares the window of the next scheduled run: the last 30
days, unless RECONCILIATION_LOOKBACK_MS says otherwise. docs/reconciliation.md explains each finding.
`;

const account = text('<account>', 'only this one, by its ID or name; a connected one as well');

const runOptions = {
  ...{ organization, account },
  environment: choice('<environment>', environments, 'only this one'),
  processor: choice('<name>', processorNames, 'only this one'),
  from: time('<time>', 'refunds made at or after this time'),
  to: time('<time>', 'refunds made before this time; default: now'),
  json,
};

type RunOptions = ValuesOf<typeof runOptions>;

/** Comparisons of the processors' refunds with ours. */
export const reconciliationCommands = commands("compare the processors' refunds with ours", {
  run: command({
    description: 'compare now, and show the discrepancies',
    options: runOptions,
    explanation: runHelp,
    examples: [
      '--organization org_...',
      '--organization org_... --environment live --processor stripe --from 2026-11-01 --to 2026-12-01',
      '--organization org_... --environment live --account stripe/acct_1QfX2eLkdIwHu7ix',
    ],
    async run(session, options) {
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
    },
  }),
  list: command({
    description: 'list the latest runs, newest first',
    options: { organization: text('<id>', 'only of this organization'), account, json },
    examples: ['', '--organization org_... --account shop-eu --json'],
    run: ({ db }, { json, ...which }) => listRuns(db, which, json),
  }),
  show: command({
    description: 'show a run with its findings',
    argument: ['<runId>'],
    options: { json },
    examples: ['rec_...', 'rec_... --json'],
    async run({ db }, { json }, runId) {
      const report = await loadReport(db, runId);
      if (json) printJson(reportToJson(report));
      else printReport(report);
    },
  }),
});

async function chooseAccounts({ db }: Session, options: RunOptions): Promise<ProcessorAccount[]> {
  const { organization: organizationId, environment, processor, account } = options;
  await findOrganization(db, organizationId);
  const accounts = await db.processorAccount.findMany({
    where: {
      organizationId,
      // Of connected accounts those that are in use.
      AND: [{ OR: [{ parentId: null }, { usedAt: { not: null } }] }, whereAccount(account)],
      ...(environment === undefined ? {} : { environment }),
      ...(processor === undefined ? {} : { processor }),
    },
    orderBy: [{ environment: 'asc' }, { processor: 'asc' }, { name: 'asc' }],
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
