import type { Dependencies } from '../../shared/dependencies.ts';
import type { Database } from '../../shared/platform/database.ts';
import type { RefundWatcher } from '../../shared/refunds/lifecycle/refund-watcher.ts';

/** What the routes work with: the shared dependencies and what only an HTTP process has. */
export interface ApiDependencies extends Dependencies {
  watcher: RefundWatcher;
  /** Connections for the dashboard alone: whoever reads much there never keeps a refund waiting for one. */
  dashboardDb: Database;
  /** Aborted when the process begins to close. */
  closing: AbortSignal;
}
