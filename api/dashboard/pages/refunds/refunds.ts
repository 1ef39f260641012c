import type { ApiDependencies } from '../../../http/dependencies.ts';
import type { Api } from '../../../http/route.ts';
import { createPages } from './create.tsx';
import { decisionRoutes } from './decisions.tsx';
import { detailPages } from './detail.tsx';
import { exportPages } from './export.tsx';
import { listPages } from './list.tsx';

/** The pages under `/refunds`. */
export function refundPages(room: Api, deps: ApiDependencies): void {
  listPages(room, deps);
  exportPages(room, deps);
  createPages(room, deps);
  detailPages(room, deps);
  decisionRoutes(room, deps);
}
