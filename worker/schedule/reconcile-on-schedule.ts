import { setTimeout as sleep } from 'node:timers/promises';
import type { Dependencies } from '../../shared/dependencies.ts';
import { reconcileAccount } from '../../shared/reconciliation/reconcile-account.ts';
import {
  findDueAccounts,
  nextWindow,
  RunLostError,
  scheduleActor,
} from '../../shared/reconciliation/runs.ts';

/** How often it is looked whether an account is due, at most; where the interval is short, more often. */
const longestCheckMs = 60_000;

/**
 * Reconciles accounts whose time has come, one after the other and beside the queues, so that refunds do not wait for it.
 * Any number of processes may do so: the database lets one run per account begin.
 */
export function reconcileOnSchedule(deps: Dependencies): { close(): Promise<void> } {
  const stopping = new AbortController();
  const ended =
    deps.settings.RECONCILIATION_INTERVAL_MS === 0 ? Promise.resolve() : repeat(deps, stopping.signal);
  return {
    async close() {
      stopping.abort();
      await ended;
    },
  };
}

async function repeat(deps: Dependencies, signal: AbortSignal): Promise<void> {
  const { random, settings, log } = deps;
  const checkMs = Math.min(longestCheckMs, settings.RECONCILIATION_INTERVAL_MS / 10);
  for (;;) {
    // Processes that were started together do not look together.
    await sleep(checkMs * (0.5 + random()), undefined, { signal, ref: false }).catch(() => {});
    if (signal.aborted) return;
    try {
      await reconcileDue(deps, signal);
    } catch (error) {
      log.warn({ err: error }, 'accounts could not be reconciled');
    }
  }
}

async function reconcileDue(deps: Dependencies, signal: AbortSignal): Promise<void> {
  for (const account of await findDueAccounts(deps)) {
    if (signal.aborted) return;
    const window = await nextWindow(deps, account);
    try {
      const run = await reconcileAccount(deps, { account, window, actor: scheduleActor, signal });
      if (run !== null) deps.log.info({ runId: run.id, accountId: account.id }, 'reconciled');
    } catch (error) {
      if (!(error instanceof RunLostError)) throw error;
      deps.log.warn({ accountId: account.id, err: error }, 'reconciliation was given up');
    }
  }
}
