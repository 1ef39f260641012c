import { createRequire } from 'node:module';

/** The version of this service, from its package.json, which is found from the sources as from dist/. */
export const { version } = createRequire(import.meta.url)('#package.json') as { version: string };
