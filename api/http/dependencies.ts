import type { Dependencies } from '../../shared/dependencies.ts';
import type { EventFeed } from '../../shared/events/feed.ts';
import type { Database } from '../../shared/platform/database.ts';
import type { EventComparisons } from '../../shared/refunds/lifecycle/processor-events.ts';
import type { RefundWatcher } from '../../shared/refunds/queries/refund-watcher.ts';

/** The shared dependencies and those that only an HTTP process has. */
export interface ApiDependencies extends Dependencies {
  watcher: RefundWatcher;
  feed: EventFeed;
  events: EventComparisons;
  /** A pool of its own for the dashboard, so that its queries never hold up a refund. */
  dashboardDb: Database;
  /** Aborted when the process begins to close. */
  closing: AbortSignal;
}

declare module 'fastify' {
  interface FastifyInstance {
    deps: ApiDependencies;
  }
}
