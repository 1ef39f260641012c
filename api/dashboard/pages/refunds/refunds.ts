import type { ApiDependencies } from '../../../http/dependencies.ts';
import type { Api } from '../../../http/route.ts';
import { createPages } from './create.tsx';
import { decisionRoutes } from './decisions.tsx';
import { detailPages } from './detail.tsx';
import { exportPages } from './export.tsx';
import { listPages } from './list.tsx';

/** The room of refunds: find, follow and decide about them, and ask for new ones. */
export function refundPages(room: Api, deps: ApiDependencies): void {
  listPages(room, deps);
  exportPages(room, deps);
  createPages(room, deps);
  detailPages(room, deps);
  decisionRoutes(room, deps);
}
