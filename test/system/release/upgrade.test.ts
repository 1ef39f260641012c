import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { RefundClient } from '#shared/client/index.ts';
import { sandboxControl } from '../../sandbox/clients.ts';
import { PROCESSORS, sandboxCredentials } from '../../sandbox/processors.ts';
import { type RunningSandbox, startSandbox } from '../../sandbox/server.ts';
import { ServiceProcess } from '../../support/faults/service-process.ts';
import { compiledIn, removeCompiled } from '../../support/processes/compiled-service.ts';
import { freePort } from '../../support/processes/free-port.ts';
import { type SteadyLoad, startSteadyLoad } from '../../support/refunds/steady-load.ts';
import { queueBackends } from '../../support/stores/backends.ts';
import { useOwnedDatabase } from '../../support/stores/owned-database.ts';
import { waitFor } from '../../support/wait-for.ts';

// The version before is the last tag, or the revision in UPGRADE_FROM. Before the first tag it is this version. The next one is this
// version with further migrations, so that there is always one that running processes do not know.

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '..', '..', '..');

/** Migrations of the kinds that prisma/README.md allows, on the tables that every statement reads. */
const nextMigrations = {
  '1_columns': ['payment', 'refund', 'refund_work', 'refund_event', 'api_key', 'processor_account']
    .map((table) => `ALTER TABLE ${table} ADD COLUMN next_note TEXT;`)
    .join('\n'),
  '2_constraint': 'ALTER TABLE refund ADD CONSTRAINT next_note CHECK (length(next_note) < 9) NOT VALID;',
  '3_validation': 'ALTER TABLE refund VALIDATE CONSTRAINT next_note;',
  '4_index': 'CREATE INDEX CONCURRENTLY IF NOT EXISTS refund_next_note ON refund (next_note);',
};

let before: Version;
let next: Version;
const folders: string[] = [];

beforeAll(async () => {
  before = await versionBefore();
  next = versionNext();
});
afterAll(() => {
  for (const folder of folders) removeCompiled(folder);
});

describe.each(queueBackends)('an upgrade under load, queues on $name', (backend) => {
  const database = useOwnedDatabase();
  let env: Record<string, string>;
  let sandbox: RunningSandbox;
  const processes: ServiceProcess[] = [];
  let running: { kind: 'api' | 'worker'; port: string; process: ServiceProcess }[];
  let load: SteadyLoad;
  beforeAll(async () => {
    sandbox = await startSandbox({ port: 0 });
    env = {
      NODE_ENV: 'production',
      DATABASE_URL: database.serviceUrl,
      REDIS_URL: backend.redisUrl ?? '',
      QUEUE_PREFIX: `upgrade-${randomBytes(6).toString('hex')}`,
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      TRUSTED_PROXIES: 'none',
      RATE_LIMIT_PER_SECOND: '0',
      // Other tests may use the machine, and what it refuses then is no failure of an upgrade.
      MAX_EVENT_LOOP_DELAY_MS: '0',
      TRANSACTION_READ_TIMEOUT_MS: '15000',
    };
  });
  afterAll(async () => {
    await Promise.all(processes.map((process) => process.kill()));
    await sandbox.close();
  });

  function start(version: Version, kind: 'api' | 'worker', port = ''): ServiceProcess {
    const process = new ServiceProcess({
      name: `${kind} of ${version.name}`,
      entry: version.entry(`${kind}/main.js`),
      env: { ...env, PORT: port },
      isReady: (running) =>
        kind === 'api'
          ? running.waitForUrl(`http://127.0.0.1:${port}/readyz`)
          : running.waitForOutput(/"working"/),
    });
    processes.push(process);
    return process;
  }

  /** Runs a command as an operator does, who has the owner's password. */
  async function command(version: Version, entry: string, ...args: string[]): Promise<string> {
    const all = { ...process.env, ...env, DATABASE_OWNER_URL: database.ownerUrl };
    const { stdout } = await run(process.execPath, [version.entry(entry), ...args], { cwd: root, env: all });
    return stdout.trim();
  }

  async function setUpOrganization(): Promise<string> {
    const admin = (...args: string[]) => command(before, 'api/cli/main.js', ...args);
    const place = [
      '--organization',
      await admin('organization', 'create', '--name', 'Acme Inc'),
      '--environment',
      'test',
    ];
    for (const [processor, credentials] of Object.entries(sandboxCredentials('test', sandbox.url))) {
      const file = join(folders[0] ?? '', `${processor}.json`);
      writeFileSync(file, JSON.stringify(credentials));
      await admin('account', 'set', ...place, '--processor', processor, '--credentials-file', file);
    }
    return await admin('key', 'create', ...place);
  }

  test('is not ready, and answers 503, before its database is migrated', async () => {
    const port = String(await freePort());
    const url = `http://127.0.0.1:${port}`;
    const api = start(next, 'api', port);
    await api.waitForUrl(`${url}/healthz`);
    const headers = { authorization: `Bearer svc_test_${'x'.repeat(32)}` };
    for (const path of ['/readyz', '/v1/refunds']) {
      expect((await fetch(`${url}${path}`, { headers })).status).toBe(503);
    }
    await api.stop();
  });

  test('completes a refund at each processor after migration and set-up', async () => {
    await command(before, 'prisma/migrate-main.js');
    const key = await setUpOrganization();
    const ports = [String(await freePort()), String(await freePort())];
    running = [
      ...ports.map((port) => ({ kind: 'api' as const, port, process: start(before, 'api', port) })),
      ...[1, 2].map(() => ({ kind: 'worker' as const, port: '', process: start(before, 'worker') })),
    ];
    await Promise.all(running.map(({ process }) => process.ready()));
    const urls = ports.map((port) => `http://127.0.0.1:${port}`);
    load = startSteadyLoad({ urls, control: sandboxControl(sandbox.url), key, pauseMs: 100 });
    const { refunds } = new RefundClient({ baseUrl: urls[0] ?? '', apiKey: key });
    for (const processor of PROCESSORS) {
      const completed = () => refunds.list({ processor, status: 'completed' });
      await waitFor(`a refund at ${processor} to complete`, async () => (await completed()).length > 0);
    }
  });

  test('fails no request, and loses and doubles no refund, while processes are replaced one by one', async () => {
    const more = () => load.until(load.count() + 20);
    await more();
    const applied = await command(next, 'prisma/migrate-main.js');
    expect(applied).toContain('4_index');
    await more();
    for (const { kind, port, process } of running) {
      expect(await process.stop()).toEqual({ code: 0, signal: null });
      await start(next, kind, port).ready();
      await more();
    }

    const { accepted, moved } = await load.end();
    expect(moved).toEqual(accepted);
    expect(load.disturbances).toEqual([]);
    // Keys that the version before has stored are known to this one.
    expect(await load.repeat()).toEqual([]);
    expect(processes.flatMap(({ unexpectedExits }) => unexpectedExits)).toEqual([]);
    console.log(`From ${before.name}: ${accepted.length} refunds, 0 failed requests, 0 lost, 0 doubled`);
  }, 600_000);
});

interface Version {
  name: string;
  /** A compiled file as `startProcess` takes it. */
  entry(file: string): string;
}

async function versionBefore(): Promise<Version> {
  const lastTag = run('git', ['describe', '--tags', '--abbrev=0'], { cwd: root }).catch(() => ({
    stdout: '',
  }));
  const revision = process.env.UPGRADE_FROM ?? (await lastTag).stdout.trim();
  if (revision === '') return { name: 'this version', ...compiledIn(inject('compiledFolder')) };
  const folder = newFolder();
  await run('sh', ['-c', `git archive "$1" | tar -x -C "$2"`, 'sh', revision, folder], { cwd: root });
  // Its own packages are those that it was released with; those of this version are close enough, and present.
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  // Another client would know columns that its migrations do not make.
  await run(join(root, 'node_modules', '.bin', 'prisma'), ['generate', '--no-hints'], { cwd: folder });
  await run(process.execPath, ['--import', 'tsx', 'build.ts', 'dist', '--noCheck', '--noResolve'], {
    cwd: folder,
  });
  return { name: revision, ...compiledIn(join(folder, 'dist')) };
}

function versionNext(): Version {
  const folder = newFolder();
  cpSync(inject('compiledFolder'), folder, { recursive: true });
  for (const part of ['migrations', 'functions']) {
    cpSync(join(root, 'prisma', part), join(folder, 'prisma', part), { recursive: true });
  }
  for (const [name, sql] of Object.entries(nextMigrations)) {
    const file = join(folder, 'prisma', 'migrations', `9999_${name}`, 'migration.sql');
    mkdirSync(dirname(file));
    writeFileSync(file, sql);
  }
  return { name: 'the next version', ...compiledIn(folder) };
}

function newFolder(): string {
  const folder = mkdtempSync(join(root, 'test', 'output', 'upgrade-'));
  folders.push(folder);
  return folder;
}
