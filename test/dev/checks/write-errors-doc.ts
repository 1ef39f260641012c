import { readFileSync, writeFileSync } from 'node:fs';
import { errorCatalogue } from '#shared/platform/errors.ts';

// `npm run docs:errors` writes docs/errors.md from the catalogue. With --check it fails when the file differs.

const file = new URL('../../../docs/errors.md', import.meta.url);
const entries = Object.entries(errorCatalogue);

function sectionOf([
  code,
  { status, retryable, meaning, action, example },
]: (typeof entries)[number]): string {
  return `## ${code}

HTTP ${status}, ${retryable ? 'retryable' : 'not retryable'}. ${meaning}

**What to do:** ${action}

\`\`\`json
{ "error": { "message": ${JSON.stringify(example)}, "code": "${code}" } }
\`\`\``;
}

const content = `<!-- Written by \`npm run docs:errors\` from shared/platform/errors.ts. Do not edit. -->

# Errors

Every error response has one shape:

\`\`\`json
{ "error": { "message": "...", "code": "validation_error" } }
\`\`\`

- \`code\` is for programs. Its meaning never changes.
- \`message\` is for people: what is wrong and what to do. Its wording may change.
- The \`X-Request-Id\` header identifies the request in the response and in the logs. Quote it in support requests.

| Status | Code | Retryable |
|---|---|---|
${entries.map(([code, { status, retryable }]) => `| ${status} | [\`${code}\`](#${code}) | ${retryable ? 'yes' : 'no'} |`).join('\n')}

A request with several faults gets the first of them in this order: route, method, key, rate limit, scope, media type and size, body,
\`Idempotency-Key\`, refund, its status, processor.

${entries.map(sectionOf).join('\n\n')}

## 500 or 503

503 means that nothing was changed. 500 may mean that the database connection broke during the commit, so the refund may have been
recorded. In both cases, retry with the same [\`Idempotency-Key\`](api.md#idempotency): no refund is made twice.
`;

if (!process.argv.includes('--check')) writeFileSync(file, content);
else if (readFileSync(file, 'utf8') !== content) {
  console.error('docs/errors.md differs from shared/platform/errors.ts. Run: npm run docs:errors');
  process.exitCode = 1;
}
