import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { readGuides } from './guides.ts';
import { overview } from './introduction.ts';

const assets = join(import.meta.dirname, 'assets');
const { resolve } = createRequire(import.meta.url);
const library = join(dirname(resolve('@scalar/fastify-api-reference')), 'js', 'standalone.js');

/** The files of the page, by name: media type and place. All are of this service. */
const files = {
  'reference.js': ['text/javascript; charset=utf-8', library],
  'start.js': ['text/javascript; charset=utf-8', join(assets, 'start.js')],
  'reference.css': ['text/css; charset=utf-8', join(assets, 'reference.css')],
  'favicon.svg': ['image/svg+xml', join(assets, '..', '..', 'dashboard', 'assets', 'favicon.svg')],
} as const;

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Refund service API</title>
<link rel="icon" href="/docs/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/docs/reference.css">
</head>
<body>
<div id="reference"></div>
<noscript>This page needs JavaScript. <a href="/openapi.json">/openapi.json</a> has the same content.</noscript>
<script src="/docs/reference.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

/** The library inserts its styles into the page. No script may be inline, and nothing comes from elsewhere. */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Serves `/docs`, the reference for people: an OpenAPI document, with guides in place of its introduction. */
export function referencePage(app: FastifyInstance, document: { info: object }): void {
  const info = { ...document.info, description: `${overview}\n\n${readGuides()}` };
  const shown = Buffer.from(JSON.stringify({ ...document, info }));
  app.get('/docs/reference.json', async (_request, reply) => reply.type('application/json').send(shown));
  app.get('/docs', async (_request, reply) =>
    reply.header('content-security-policy', contentPolicy).type('text/html; charset=utf-8').send(page),
  );
  for (const [name, [mediaType, path]] of Object.entries(files)) {
    const content = readFileSync(path);
    app.get(`/docs/${name}`, async (_request, reply) =>
      reply.header('cache-control', 'public, max-age=3600').type(mediaType).send(content),
    );
  }
}
