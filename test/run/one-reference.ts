import type { FastifyInstance } from 'fastify';
import { vi } from 'vitest';

// The routes of the API reference are the same for every application of a process, and writing its document is most of what an
// application costs to build. So the first one's are kept.
vi.mock('#api/reference/openapi.ts', async (importOriginal) => {
  const { openApi } = await importOriginal<typeof import('#api/reference/openapi.ts')>();
  type Route = Parameters<FastifyInstance['get']>;
  let kept: Promise<Route[]> | undefined;
  const record = async (described: Parameters<typeof openApi>[1]): Promise<Route[]> => {
    const routes: Route[] = [];
    const recorder = { get: (...route: Route) => routes.push(route) };
    await openApi(recorder as unknown as FastifyInstance, described);
    return routes;
  };
  return {
    openApi: async (app: FastifyInstance, described: Parameters<typeof openApi>[1]) => {
      kept ??= record(described);
      for (const route of await kept) app.get(...route);
    },
  };
});
