import type { Dependencies } from '../shared/dependencies.ts';
import type { RefundWatcher } from './refund-watcher.ts';

/** What the routes work with: the shared dependencies and what only an HTTP process has. */
export interface ApiDependencies extends Dependencies {
  watcher: RefundWatcher;
}
