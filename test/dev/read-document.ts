import { randomBytes } from 'node:crypto';
import type { OpenAPI3 } from 'openapi-typescript';
import { buildApp } from '#api/app.ts';
import { closeDependencies, openDependencies } from '#shared/dependencies.ts';
import { loadServiceSettings } from '#shared/platform/config.ts';
import { openLog } from '#shared/platform/log.ts';

/** The document that the API serves. No store is needed: nothing of them is read. */
export async function readDocument(): Promise<OpenAPI3> {
  const settings = loadServiceSettings({
    DATABASE_URL: 'postgresql://127.0.0.1:1/none',
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    // Loading the modules delays the event loop, for which the API would refuse the request.
    MAX_EVENT_LOOP_DELAY_MS: '0',
  });
  const deps = openDependencies(settings, openLog('silent', 'client-types'));
  const app = await buildApp({ ...deps, dashboardDb: deps.db });
  const response = await app.inject('/openapi.json');
  await app.close();
  await closeDependencies(deps);
  if (response.statusCode !== 200) throw new Error(`/openapi.json: ${response.statusCode} ${response.body}`);
  return response.json();
}
