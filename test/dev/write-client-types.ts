import { writeFileSync } from 'node:fs';
import { register } from 'node:module';
import type { OpenAPI3 } from 'openapi-typescript';
import { readDocument } from './read-document.ts';

// `npm run client:types` writes the types of the client, which are not in the repository, from the OpenAPI document.

const file = new URL('../../shared/client/openapi.ts', import.meta.url);
writeFileSync(file, await typesOf(ofClient(await readDocument())));

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
