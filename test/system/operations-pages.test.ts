import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, inject, test } from 'vitest';
import { sandboxCredentials } from '../sandbox/processors.ts';
import { cliSettings } from '../support/processes/admin-cli.ts';
import { useTemporaryFolder } from '../support/processes/temporary-folder.ts';
import { startRedis } from '../support/stores/redis.ts';
import { useService } from '../support/use-service.ts';

const service = useService();
const inFolder = useTemporaryFolder();
const root = resolve(import.meta.dirname, '..', '..');

/**
 * PostgreSQL's own programs only check that their arguments fit together: what is restored was dumped before, into the database
 * that was created. Ours run as they were compiled. Any other word has to be a program of this machine.
 */
const shell = `
set -eu
pg_dump() { for each in "$@"; do case $each in --file=*) : > "\${each#--file=}" ;; esac; done; isUrl "$each"; }
createdb() { isUrl "\${1#--maintenance-db=}"; created=$2; }
pg_restore() {
  for each in "$@"; do case $each in --dbname=*) isUrl "\${each#--dbname=}"; [ "\${each##*/}" = "$created" ] ;; esac; done
  [ -f "$each" ]
}
psql() { isUrl "$1"; }
pg_basebackup() {
  for each in "$@"; do case $each in --pgdata=*) mkdir "\${each#--pgdata=}" ;; --dbname=*) isUrl "\${each#--dbname=}" ;; esac; done
}
pg_ctl() { [ -f "$PGDATA/recovery.signal" ]; }
isUrl() { case $1 in postgresql://?*@?*/?*) ;; *) echo "no address of a database: $1" >&2; return 1 ;; esac; }
node() { case $1 in dist/*) entry=$COMPILED/\${1#dist/}; shift; command node "$entry" "$@" ;; *) command node "$@" ;; esac; }
npm() { [ "$1 $2 $3 $4" = 'run -s admin --' ]; shift 4; node dist/api/cli/main.js "$@"; }
`;

/** The commands of a page, in their order. */
function commandsOf(page: string): string {
  const source = readFileSync(join(root, 'docs', 'operations', page), 'utf8');
  return [...source.matchAll(/^ *```sh\n(.*?)^ *```/gms)].map(([, block]) => block).join('');
}

async function runPage(page: string, env: Record<string, string | undefined>) {
  const commands = commandsOf(page);
  expect(commands).toContain('npm run -s admin -- ');
  const child = spawn('sh', ['-c', shell + commands], {
    cwd: inFolder(),
    env: {
      ...process.env,
      ...cliSettings(service),
      NODE_ENV: 'production',
      // Longer than in production.
      DATABASE_STATEMENT_TIMEOUT_MS: undefined,
      DATABASE_OWNER_URL: service.databaseUrl,
      DATABASE_ADMIN_URL: service.databaseUrl,
      COMPILED: inject('compiledFolder'),
      ...env,
    },
  });
  const ended = new Promise<number | null>((settle) => child.once('close', settle));
  const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  expect(code, `${output}\n${errors}`).toBe(0);
}

const redisTest = test.skipIf(inject('redisUrl') === null);

test('every command of docs/operations/restore.md runs', async () => {
  await runPage('restore.md', { REDIS_URL: undefined });
});

// Last, because it rotates the encryption key.
redisTest('every command of docs/operations/upgrade.md runs, and the old secrets end', async () => {
  const redis = await startRedis({ args: ['--requirepass', 'first'] });
  const { id, keys } = service.organization;
  writeFileSync(
    inFolder('stripe.json'),
    JSON.stringify(sandboxCredentials('test', service.sandboxUrl).stripe),
  );
  try {
    await runPage('upgrade.md', {
      REDIS_URL: `redis://:first@127.0.0.1:${redis.port}`,
      QUEUE_PREFIX: `pages-${randomBytes(6).toString('hex')}`,
      ORG: id,
      OLD_KEY_ID: keys.test.id,
    });
  } finally {
    await redis.stop();
  }
  expect((await service.call('GET', '/v1/refunds')).status).toBe(401);
});
