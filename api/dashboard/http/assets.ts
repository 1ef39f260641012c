import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Api } from '../../http/route.ts';

const mediaTypes = {
  'dashboard.css': 'text/css; charset=utf-8',
  'dashboard.js': 'text/javascript; charset=utf-8',
  'htmx.min.js': 'text/javascript; charset=utf-8',
  'favicon.svg': 'image/svg+xml',
} as const;

/** In cascade order: later files win. */
const styles = [
  ...['tokens', 'base', 'frame', 'cards', 'tables', 'notices', 'buttons', 'forms', 'text'],
  ...['timeline', 'charts', 'preferences'],
];

type AssetName = keyof typeof mediaTypes;

interface Asset {
  body: Buffer;
  mediaType: string;
  url: string;
}

const base = '/dashboard/assets';

/** Read once. The address contains the hash of the content, so that browsers may cache it forever. */
const assets = Object.fromEntries(
  Object.entries(mediaTypes).map(([name, mediaType]) => [name, readAsset(name as AssetName, mediaType)]),
) as Record<AssetName, Asset>;

function readAsset(name: AssetName, mediaType: string): Asset {
  const body = Buffer.concat(filesOf(name).map((file) => readFileSync(file)));
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 12);
  return { body, mediaType, url: `${base}/${hash}/${name}` };
}

/** The source files of an asset; all style sheets are sent as one. */
function filesOf(name: AssetName): string[] {
  if (name === 'htmx.min.js') return [createRequire(import.meta.url).resolve('htmx.org/dist/htmx.min.js')];
  const folder = join(import.meta.dirname, '..', 'assets');
  if (name !== 'dashboard.css') return [join(folder, name)];
  return styles.map((subject) => join(folder, 'styles', `${subject}.css`));
}

/** The address of an asset. */
export function assetUrl(name: AssetName): string {
  return assets[name].url;
}

/** Serves the assets without authentication; they contain no data. */
export function assetRoutes(scope: Api): void {
  for (const { url, body, mediaType } of Object.values(assets)) {
    scope.get(url, async (_request, reply) =>
      reply.header('cache-control', 'public, max-age=31536000, immutable').type(mediaType).send(body),
    );
  }
}
