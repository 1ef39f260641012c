import { writeFileSync } from 'node:fs';
import { register } from 'node:module';
import type { OpenAPI3 } from 'openapi-typescript';
import { readDocument } from './read-document.ts';

// `npm run client:types` writes the types of the client, which are not in the repository, from the OpenAPI document.

const file = new URL('../../shared/client/openapi.ts', import.meta.url);
writeFileSync(file, await typesOf(await readDocument()));

/** TypeScript 7 has no compiler API, so the generator gets that of TypeScript 5. */
async function typesOf(document: OpenAPI3): Promise<string> {
  const resolve = `(name, context, next) => next(name === 'typescript' ? 'typescript-5' : name, context)`;
  register(`data:text/javascript,${encodeURIComponent(`export const resolve = ${resolve};`)}`);
  const { default: generate, astToString } = await import('openapi-typescript');
  return astToString(await generate(document));
}
