import { writeFileSync } from 'node:fs';
import { readDocument } from './read-document.ts';

// `npm run docs:openapi` keeps the document of a release. test/integration/api/compatibility.test.ts compares later ones with it.

const document = await readDocument();
const file = new URL(`../../docs/openapi-${document.info.version}.json`, import.meta.url);
writeFileSync(file, `${JSON.stringify(document)}\n`);
