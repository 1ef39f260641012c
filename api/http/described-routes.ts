import type { RouteOptions } from 'fastify';
import type { Api } from './route.ts';

/** What the API reference is made of. */
export type DescribedRoute = Pick<RouteOptions, 'method' | 'url' | 'schema'>;

/** The routes that are registered on `app` from here on and do not hide; the list grows with them. */
export function collectDescribedRoutes(app: Api): readonly DescribedRoute[] {
  const routes: DescribedRoute[] = [];
  app.addHook('onRoute', ({ method, url, schema = {} }) => {
    // Fastify adds HEAD to every GET, here and where they are described.
    if (method !== 'HEAD' && schema.hide !== true) routes.push({ method, url, schema });
  });
  return routes;
}
