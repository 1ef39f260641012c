import type { Dependencies } from '#shared/dependencies.ts';
import { reconcileAccount } from '#shared/reconciliation/reconcile-account.ts';
import { findDueAccounts, nextWindow, RunLostError, scheduleActor } from '#shared/reconciliation/runs.ts';

/**
 * Reconciles the accounts that are due, one after the other. Several workers may do so at the same time: the database allows
 * one run per account.
 */
export async function reconcileDueAccounts(deps: Dependencies, signal: AbortSignal): Promise<void> {
  for (const account of await findDueAccounts(deps)) {
    if (signal.aborted) return;
    const window = await nextWindow(deps, account);
    try {
      const run = await reconcileAccount(deps, { account, window, actor: scheduleActor, signal });
      if (run !== null) deps.log.info({ runId: run.id, accountId: account.id }, 'reconciled');
    } catch (error) {
      if (!(error instanceof RunLostError)) throw error;
      deps.log.warn({ accountId: account.id, err: error }, 'another worker took over the reconciliation');
    }
  }
}
