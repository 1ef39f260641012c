import type { ApiDependencies } from '../../../http/dependencies.ts';
import type { Api } from '../../../http/route.ts';
import { createPages } from './create.tsx';
import { decisionRoutes } from './decisions.tsx';
import { detailPages } from './detail.tsx';
import { exportPages } from './export.tsx';
import { listPages } from './list.tsx';

/** The pages under `/refunds`. */
export function refundPages(scope: Api, deps: ApiDependencies): void {
  listPages(scope, deps);
  exportPages(scope, deps);
  createPages(scope, deps);
  detailPages(scope, deps);
  decisionRoutes(scope, deps);
}
