import type { Dependencies } from '#shared/dependencies.ts';
import type { ReconciliationRun } from '#shared/platform/database.ts';
import { carryOutRun, reconcileAccount } from '#shared/reconciliation/reconcile-account.ts';
import {
  findDueAccounts,
  nextWindow,
  RunLostError,
  scheduleActor,
  takeRequestedRun,
} from '#shared/reconciliation/runs.ts';

/**
 * Reconciles the accounts that are due, one after the other. Several workers may do so at the same time: the database allows
 * one run per account.
 */
export async function reconcileDueAccounts(deps: Dependencies, signal: AbortSignal): Promise<void> {
  for (const account of await findDueAccounts(deps)) {
    if (signal.aborted) return;
    const window = await nextWindow(deps, account);
    await logRun(deps, account.id, () =>
      reconcileAccount(deps, { account, window, actor: scheduleActor, signal }),
    );
  }
}

/** Carries out the runs that people have requested, one after the other. */
export async function reconcileAsRequested(deps: Dependencies, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const run = await takeRequestedRun(deps);
    if (run === null) return;
    await logRun(deps, run.accountId, () => carryOutRun(deps, run, { signal }));
  }
}

async function logRun(
  { log }: Dependencies,
  accountId: string,
  carryOut: () => Promise<ReconciliationRun | null>,
): Promise<void> {
  try {
    const run = await carryOut();
    if (run !== null) log.info({ runId: run.id, accountId }, 'reconciled');
  } catch (error) {
    if (!(error instanceof RunLostError)) throw error;
    log.warn({ accountId, err: error }, 'another worker took over the reconciliation');
  }
}
