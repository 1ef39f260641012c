import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { register } from 'node:module';
import type { OpenAPI3 } from 'openapi-typescript';
import { buildApp } from '#api/app.ts';
import { closeDependencies, openDependencies } from '#shared/dependencies.ts';
import { loadServiceSettings } from '#shared/platform/config.ts';
import { openLog } from '#shared/platform/log.ts';

// `npm run client:types` writes the types of the client, which are not in the repository, from the OpenAPI document.

const file = new URL('../../shared/client/openapi.ts', import.meta.url);
writeFileSync(file, await typesOf(ofClient(await readDocument())));

/** The document that the API serves. No store is needed: nothing of them is read. */
async function readDocument(): Promise<OpenAPI3> {
  const settings = loadServiceSettings({
    DATABASE_URL: 'postgresql://127.0.0.1:1/none',
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    // Loading the modules delays the event loop, for which the API would refuse the request.
    MAX_EVENT_LOOP_DELAY_MS: '0',
  });
  const deps = openDependencies(settings, openLog('silent', 'client-types'));
  const { app } = await buildApp({ ...deps, dashboardDb: deps.db });
  const response = await app.inject('/openapi.json');
  await app.close();
  await closeDependencies(deps);
  if (response.statusCode !== 200) throw new Error(`/openapi.json: ${response.statusCode} ${response.body}`);
  return response.json();
}

/** Without what the client has no type of, or needs no text of, which is most of the document. */
function ofClient(document: OpenAPI3): OpenAPI3 {
  const isExample = (key: string) => key === 'example' || key === 'examples';
  const client = JSON.parse(JSON.stringify(document, (key, value) => (isExample(key) ? undefined : value)));
  for (const path of Object.keys(client.paths)) {
    if (!path.startsWith('/v1/')) delete client.paths[path];
  }
  for (const operation of Object.values<OpenAPI3>(client.paths).flatMap(Object.values)) {
    operation.responses = { 200: { description: '', content: operation.responses[200].content } };
    delete operation.summary;
    delete operation.description;
  }
  // The table of all codes.
  delete client.components.schemas.Error.description;
  return client;
}

/** TypeScript 7 has no compiler API, so the generator gets that of TypeScript 5. */
async function typesOf(document: OpenAPI3): Promise<string> {
  const resolve = `(name, context, next) => next(name === 'typescript' ? 'typescript-5' : name, context)`;
  register(`data:text/javascript,${encodeURIComponent(`export const resolve = ${resolve};`)}`);
  const { default: generate, astToString } = await import('openapi-typescript');
  return astToString(await generate(document));
}
