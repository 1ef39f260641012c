import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { sandboxControl } from '../../sandbox/clients.ts';
import { PROCESSORS, sandboxCredentials } from '../../sandbox/processors.ts';
import { type RunningSandbox, startSandbox } from '../../sandbox/server.ts';
import { type StartedProcess, startProcess } from '../../support/processes/child-process.ts';
import { compiledIn } from '../../support/processes/compiled-service.ts';
import { freePort } from '../../support/processes/free-port.ts';
import { useTemporaryFolder } from '../../support/processes/temporary-folder.ts';
import { queueBackends } from '../../support/stores/backends.ts';
import { useOwnedDatabase } from '../../support/stores/owned-database.ts';
import { waitFor } from '../../support/wait-for.ts';

const run = promisify(execFile);

const inFolder = useTemporaryFolder();

const root = resolve(import.meta.dirname, '..', '..', '..');

// Compiled and without tsx, as it is deployed.
describe.each(queueBackends)('a production deployment, queues on $name', (backend) => {
  const database = useOwnedDatabase();
  const compiled = compiledIn(inject('compiledFolder'));
  let env: Record<string, string>;
  let sandbox: RunningSandbox;
  const started: StartedProcess[] = [];

  beforeAll(async () => {
    sandbox = await startSandbox({ port: 0 });
    env = {
      NODE_ENV: 'production',
      DATABASE_URL: database.serviceUrl,
      REDIS_URL: backend.redisUrl ?? '',
      DATA_DIR: inFolder(backend.name),
      QUEUE_PREFIX: `production-${randomBytes(6).toString('hex')}`,
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      TRUSTED_PROXIES: 'none',
      PORT: String(await freePort()),
    };
  });
  afterAll(async () => {
    await Promise.all(started.map((process) => process.kill9()));
    await sandbox.close();
  });

  function start(entry: string): StartedProcess {
    const process = startProcess(compiled.entry(entry), { env });
    started.push(process);
    return process;
  }

  /** Runs a compiled command and returns its output. */
  async function command(entry: string, ...args: string[]): Promise<string> {
    const { stdout } = await run(process.execPath, [compiled.entry(entry), ...args], {
      cwd: root,
      env: { ...process.env, ...env, DATABASE_OWNER_URL: database.ownerUrl },
    });
    return stdout.trim();
  }

  async function setUpOrganization(): Promise<string> {
    const organization = await command('api/cli/main.js', 'organization', 'create', '--name', 'Acme Inc');
    const place = ['--organization', organization, '--environment', 'test'];
    const accounts = Object.entries(sandboxCredentials('test', sandbox.url));
    await Promise.all(
      accounts.map(async ([processor, credentials]) => {
        const file = inFolder(`${processor}-${backend.name}.json`);
        writeFileSync(file, JSON.stringify(credentials));
        const account = ['--processor', processor, '--credentials-file', file];
        await command('api/cli/main.js', 'account', 'set', ...place, ...account);
      }),
    );
    return await command('api/cli/main.js', 'key', 'create', ...place);
  }

  test('is not ready, and answers 503, before its database is migrated', async () => {
    const api = start('api/main.js');
    const url = `http://127.0.0.1:${env.PORT}`;
    await api.waitForUrl(`${url}/healthz`);
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    const headers = { authorization: `Bearer svc_test_${'x'.repeat(32)}` };
    expect((await fetch(`${url}/v1/refunds`, { headers })).status).toBe(503);
    await api.stop();
  });

  test('completes a refund at each processor after migration and set-up', async () => {
    expect(await command('prisma/migrate-main.js')).toMatch(/^Applied /m);
    const key = await setUpOrganization();
    const api = start('api/main.js');
    const worker = start('worker/main.js');
    const url = `http://127.0.0.1:${env.PORT}`;
    await Promise.all([api.waitForUrl(`${url}/readyz`), worker.waitForOutput(/"working"/)]);
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    for (const processor of PROCESSORS) {
      const payment = { processor, amount: 10_000, currency: 'usd' };
      const transactionId = await sandboxControl(sandbox.url).transaction(payment);
      const body = JSON.stringify({ transactionId, amount: 2_500, reason: 'other' });
      const created = await fetch(`${url}/v1/refunds`, { method: 'POST', headers, body });
      expect(created.status, api.output()).toBe(200);
      const { data } = (await created.json()) as { data: { id: string } };
      await waitFor(`the refund at ${processor} to complete`, async () => {
        const answer = await fetch(`${url}/v1/refunds/${data.id}`, { headers });
        return ((await answer.json()) as { data: { status: string } }).data.status === 'completed';
      });
    }
    expect(await Promise.all([api.stop(), worker.stop()])).toEqual([
      { code: 0, signal: null },
      { code: 0, signal: null },
    ]);
  });
});
