import type { Database } from '#shared/platform/database.ts';
import type { EventComparisons } from '#shared/refunds/lifecycle/processor-events.ts';
import type { OperationDependencies } from '../operations/operation.ts';

/** What operations need, and what only an HTTP process has. */
export interface ApiDependencies extends OperationDependencies {
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
