import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { acceptsGzip } from '../../http/compression.ts';
import type { Api } from '../../http/route.ts';

const { resolve } = createRequire(import.meta.url);
const folder = join(import.meta.dirname, '..', 'assets');

/** Each has the name of the component that it styles. Later ones win. */
const ownStyles = [
  ...['theme', 'frame', 'card', 'views', 'summary', 'list', 'bulk-selection', 'badge', 'notice'],
  ...['needs-attention', 'button', 'dialog', 'form', 'values', 'timeline', 'bar-chart'],
];

/** The parts of the CSS kit that pages use, then our styles, which win: the kit's are in cascade layers. */
const styles = [
  ...['00-base', '01-theme', 'button', 'form', 'table', 'card', 'badge', 'dialog'].map((part) =>
    resolve(`@knadh/oat/css/${part}.css`),
  ),
  ...ownStyles.map((subject) => join(folder, 'styles', `${subject}.css`)),
];

/** An asset's media type and the files that it is made of. The font comes first: its address is part of the style sheet. */
const sources = {
  'inter.woff2': ['font/woff2', [resolve('@fontsource-variable/inter/files/inter-latin-wght-normal.woff2')]],
  'dashboard.css': ['text/css; charset=utf-8', styles],
  'dashboard.js': ['text/javascript; charset=utf-8', [join(folder, 'dashboard.js')]],
  'htmx.min.js': ['text/javascript; charset=utf-8', [resolve('htmx.org/dist/htmx.min.js')]],
  'favicon.svg': ['image/svg+xml', [join(folder, 'favicon.svg')]],
} as const satisfies Record<string, readonly [string, readonly string[]]>;

type AssetName = keyof typeof sources;

/** Read once. The address contains the hash of the content, so that browsers may cache it forever. */
const assets = new Map<string, { body: Buffer; gzipped: Buffer | null; mediaType: string; url: string }>();
for (const [name, [mediaType, files]] of Object.entries(sources)) {
  const read = Buffer.concat(files.map((file) => readFileSync(file)));
  const body =
    name === 'dashboard.css'
      ? Buffer.from(`${read}`.replace('"inter.woff2"', assetUrl('inter.woff2')))
      : read;
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 12);
  // WOFF2 is compressed already.
  const gzipped = mediaType === 'font/woff2' ? null : gzipSync(body, { level: 9 });
  assets.set(name, { body, gzipped, mediaType, url: `/dashboard/assets/${hash}/${name}` });
}

/** The address of an asset. */
export function assetUrl(name: AssetName): string {
  return assets.get(name)?.url ?? '';
}

/** Serves the assets without authentication. They contain no secret, so their size can reveal none when they are compressed. */
export function assetRoutes(scope: Api): void {
  for (const { url, body, gzipped, mediaType } of assets.values()) {
    scope.get(url, async (request, reply) => {
      reply.header('cache-control', 'public, max-age=31536000, immutable').type(mediaType);
      if (gzipped === null) return reply.send(body);
      reply.header('vary', 'accept-encoding');
      return acceptsGzip(request) ? reply.header('content-encoding', 'gzip').send(gzipped) : reply.send(body);
    });
  }
}
