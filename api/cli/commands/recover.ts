import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessorAccount, ReconciliationRun } from '#shared/platform/database.ts';
import { abilitiesOf } from '#shared/processors/accounts/abilities.ts';
import { loadAccount } from '#shared/processors/accounts/account.ts';
import { processorNames } from '#shared/processors/registry.ts';
import { reconcileAccount } from '#shared/reconciliation/reconcile-account.ts';
import { endRecovery, requireRecovery } from '#shared/refunds/lifecycle/recovery.ts';
import { command } from '../console/command.ts';
import { required, texts, time } from '../console/options.ts';
import { explain } from '../console/output.ts';
import { CommandError, type Session } from '../console/session.ts';
import { loadReport, printReport, summaryOf } from '../reports/reconciliation-report.ts';
import { needsAttentionCode } from './reconciliation.ts';

const help = `
Workers send nothing until it has finished. It reads the refunds that each processor account has made since an hour before the
backup, puts back those of ours that are not on record, and prints what a person has to look at. It may be repeated.

Exit code: 0 when nothing needs attention, 3 when something does, 1 when an account could not be read: run it again, or leave the
account out with --without if it is no longer used. A connected account without access is named and left out: nothing is sent through it.
docs/operations/restore.md has every step of a restore.
`;

/** Backups and processors have clocks of their own, and a backup takes a while. */
const overlapMs = 60 * 60 * 1000;

/** How long another comparison of the same account is waited for. */
const busyTries = 30;
const busyPauseMs = 2_000;

export const recoverCommand = command({
  description: 'after a restore from a backup: put back what processors have and the database has not',
  options: {
    since: required(time('<time>', 'when the backup was begun')),
    without: texts('<accountId...>', 'leave out these processor accounts'),
  },
  explanation: help,
  examples: ['--since 2026-11-24T03:00:00Z'],
  async run(session, { since, without = [] }) {
    if (since > session.clock.now()) throw new CommandError('--since must not be in the future.');
    const accounts = await chooseAccounts(session, without);
    await requireRecovery(session.db);
    const began = session.clock.now();
    let unfinished = 0;
    for (const account of accounts) {
      const report = await loadReport(session.db, (await recoverAccount(session, account, since)).id);
      printReport(report);
      explain(summaryOf(report));
      const isLeftOut = report.run.failure !== null && (await hasNoAccess(session, account));
      if (isLeftOut) explain(noAccess(account));
      else if (report.run.failure !== null) unfinished += 1;
      if (isLeftOut || report.needsAttentionCount > 0) process.exitCode = needsAttentionCode;
    }
    if (unfinished > 0) throw new CommandError('Recovery is incomplete, and nothing is sent. Run it again.');
    await endRecovery(session.db, began);
    for (const processor of processorNames) session.queues.wake(processor);
    explain('Recovery is complete. Workers send refunds again, except those with RESTORED=true.');
  },
});

async function chooseAccounts({ db }: Session, without: readonly string[]): Promise<ProcessorAccount[]> {
  const accounts = await db.processorAccount.findMany({ orderBy: { id: 'asc' } });
  const unknown = without.find((id) => accounts.every((account) => account.id !== id));
  if (unknown !== undefined) throw new CommandError(`Processor account not found: ${unknown}`);
  return accounts.filter(({ id }) => !without.includes(id));
}

/** True for a connected account, as long as its last call was refused altogether. */
async function hasNoAccess({ db }: Session, { id, parentId }: ProcessorAccount): Promise<boolean> {
  if (parentId === null) return false;
  return abilitiesOf(await loadAccount(db, { accountId: id })).credentials?.state === 'refused';
}

function noAccess({ id, name }: ProcessorAccount): string {
  return `Warning: there is no access to the connected account ${name} (${id}), so it was not read, and nothing is sent through it. Once it is connected again, run this command again.`;
}

async function recoverAccount(
  session: Session,
  account: ProcessorAccount,
  since: Date,
): Promise<ReconciliationRun> {
  const to = new Date(session.clock.now().getTime() + overlapMs);
  const window = { from: new Date(since.getTime() - overlapMs), to };
  const { signal } = new AbortController();
  const request = { account, window, actor: session.actor, signal, putsBack: true };
  for (let tried = 1; tried < busyTries; tried += 1) {
    const run = await reconcileAccount(session, request);
    if (run !== null) return run;
    await sleep(busyPauseMs);
  }
  throw new CommandError(`The account ${account.id} is being reconciled. Try again in a minute.`);
}
